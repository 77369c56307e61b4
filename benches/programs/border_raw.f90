! The same, as gfortran compiles it.
double precision function raw_scaled(x, y) bind(c)
  double precision x, y
  raw_scaled = x*y + 1
end function
integer function raw_quot(i, j) bind(c)
  raw_quot = i/j
end function
double precision function raw_pick(i, n, x) bind(c)
  double precision x(n)
  raw_pick = x(i)
end function
double precision function raw_total(f, n) bind(c)
  interface
    double precision function f(x) bind(c)
      double precision x
    end function
  end interface
  raw_total = 0
  do i = 1, n
    raw_total = raw_total + f(i*1d0)
  end do
end function
subroutine raw_sweeps(rhs, n, y, dy) bind(c)
  interface
    subroutine rhs(n, y, dy) bind(c)
      double precision y(n), dy(n)
    end subroutine
  end interface
  double precision y(4), dy(4)
  do i = 1, n
    call rhs(4, y, dy)
    y(1) = dy(1)
  end do
end subroutine
