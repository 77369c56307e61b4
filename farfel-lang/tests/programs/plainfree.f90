program free
  integer i, total
  total = 0
  outer: do i = 1, 10
    if (i == 4) cycle outer
    if (i /= 4 .and. i > 8) exit outer
    total = total + &
      i * 2
  end do outer
  print *, total, 'a constant that is long enough to be broken in fixed form, I should think'
  write (*, '(1x, a)') "don't" // ' ' // 'worry'
end program free
