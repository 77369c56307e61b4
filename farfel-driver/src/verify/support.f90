! What instrumented programs of `farfel verify` call. See `instrument.rs` for who calls what.
!
! A check runs in a process of its own: where the program comes to an AD block, it forks, waits,
! and goes on as if nothing had been. The forked process, the checker, forks again for every run
! of the block, with other values of its variables, and reads numbers from it through a pipe. So
! COMMON, SAVE and all else stay what they are, and a run may stop, crash or hang. Output of the
! runs goes nowhere.
module farfel_verify
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    function c_fork() bind(c, name='fork')
      import c_int
      integer(c_int) :: c_fork
    end function
    function c_pipe(ends) bind(c, name='pipe')
      import c_int
      integer(c_int) :: ends(2), c_pipe
    end function
    function c_close(fd) bind(c, name='close')
      import c_int
      integer(c_int), value :: fd
      integer(c_int) :: c_close
    end function
    function c_dup(fd) bind(c, name='dup')
      import c_int
      integer(c_int), value :: fd
      integer(c_int) :: c_dup
    end function
    function c_dup2(fd, to) bind(c, name='dup2')
      import c_int
      integer(c_int), value :: fd, to
      integer(c_int) :: c_dup2
    end function
    function c_creat(path, mode) bind(c, name='creat')
      import c_int, c_char
      character(kind=c_char) :: path(*)
      integer(c_int), value :: mode
      integer(c_int) :: c_creat
    end function
    function c_chdir(path) bind(c, name='chdir')
      import c_int, c_char
      character(kind=c_char) :: path(*)
      integer(c_int) :: c_chdir
    end function
    function c_read(fd, buffer, count) bind(c, name='read')
      import c_int, c_intptr_t, c_ptr
      integer(c_int), value :: fd
      type(c_ptr), value :: buffer
      integer(c_intptr_t), value :: count
      integer(c_intptr_t) :: c_read
    end function
    function c_write(fd, buffer, count) bind(c, name='write')
      import c_int, c_intptr_t, c_ptr
      integer(c_int), value :: fd
      type(c_ptr), value :: buffer
      integer(c_intptr_t), value :: count
      integer(c_intptr_t) :: c_write
    end function
    function c_waitpid(pid, status, options) bind(c, name='waitpid')
      import c_int
      integer(c_int), value :: pid, options
      integer(c_int) :: status, c_waitpid
    end function
    function c_alarm(seconds) bind(c, name='alarm')
      import c_int
      integer(c_int), value :: seconds
      integer(c_int) :: c_alarm
    end function
    subroutine c_exit(code) bind(c, name='_exit')
      import c_int
      integer(c_int), value :: code
    end subroutine
  end interface

  ! What a run does: the statements of the block, the derivative, and for ADR the tangent.
  integer, parameter :: statements = 1, derivative = 2, tangent = 3

  ! Where results go; empty where nothing is checked.
  character(len=:), allocatable :: file
  logical :: started = .false.
  ! This is a run of a block, in which no other block is checked.
  logical :: quiet = .false.
  ! A process that must never return to who called the program.
  logical :: forked = .false.
  integer :: most_points = 3
  integer :: seconds = 60
  logical, allocatable :: done(:)

  ! The checker: the block.
  character(len=:), allocatable :: notes
  logical :: reverse, has_tangent
  double precision, allocatable :: x(:), given(:), cotangent(:), of_x(:)
  integer :: nx, nc, last_of_x, shown_of_x
  ! Several directions: how many, and the tangents of each number of the independent variables in
  ! all of them, or the cotangents of the dependent ones; of a pattern 1 for .TRUE.
  integer :: columns, na, chosen
  logical :: is_pattern
  double precision, allocatable :: also(:)

  ! A run.
  integer(c_int) :: to_parent
  integer :: kind_of_run, at_x, at_c, at_out
  double precision :: t
  double precision, allocatable :: direction(:), weights(:,:)
  integer, allocatable :: of_out(:)
  double precision, allocatable, target :: answer(:)
  integer :: answers
  logical :: projected

  integer(8) :: dice = 88172645463325252_8

contains

  ! Between 1/2 and 1, with either sign.
  double precision function roll()
    dice = ieor(dice, shiftl(dice, 13))
    dice = ieor(dice, shiftr(dice, 7))
    dice = ieor(dice, shiftl(dice, 17))
    roll = 0.5d0 + 0.5d0*dble(iand(dice, 1048575_8))/1048576d0
    if (btest(dice, 30)) roll = -roll
  end function

  subroutine start
    character(len=4096) :: text
    integer :: length, status
    started = .true.
    file = ''
    call get_environment_variable('FARFEL_VERIFY_OUT', text, length, status)
    if (status == 0 .and. length > 0) file = text(:length)
    call get_environment_variable('FARFEL_VERIFY_POINTS', text, length, status)
    if (status == 0 .and. length > 0) read (text(:length), *, iostat=status) most_points
    call get_environment_variable('FARFEL_VERIFY_SECONDS', text, length, status)
    if (status == 0 .and. length > 0) read (text(:length), *, iostat=status) seconds
    allocate (done(0))
  end subroutine

  ! Counts an execution of a block, through all processes. Is it one of the first?
  logical function is_first(package, block)
    character(len=*), intent(in) :: package
    integer, intent(in) :: block
    logical, allocatable :: more(:)
    integer :: unit, status, count
    is_first = .false.
    if (block > size(done)) then
      allocate (more(2*block))
      more = .false.
      more(:size(done)) = done
      call move_alloc(more, done)
    end if
    if (done(block)) return
    open (newunit=unit, file=file//'.'//package, access='direct', form='unformatted', &
          recl=8, iostat=status)
    if (status /= 0) return
    read (unit, rec=block, iostat=status) count
    if (status /= 0) count = 0
    is_first = count < most_points
    if (is_first) then
      write (unit, rec=block, iostat=status) count + 1, 0
    else
      done(block) = .true.
    end if
    close (unit)
  end function

  ! Output of this process goes nowhere, and new files to where they are thrown away.
  subroutine silence
    integer(c_int) :: null, fd, copy, ignored
    null = c_creat('/dev/null'//c_null_char, 438)
    do fd = 0, 255
      if (fd == null) cycle
      copy = c_dup(fd)
      if (copy < 0) cycle
      ignored = c_close(copy)
      ignored = c_dup2(null, fd)
    end do
    ignored = c_chdir(file//'.d'//c_null_char)
  end subroutine

  subroutine note(line)
    character(len=*), intent(in) :: line
    notes = notes//trim(line)//new_line('a')
  end subroutine

  function shown(value)
    double precision, intent(in) :: value
    character(len=26) :: shown
    write (shown, '(es25.16e4)') value
    shown = adjustl(shown)
  end function

  ! Starts a run. True in the new process; else its answer is in `reply`.
  logical function run(what, step, along, reply, good)
    integer, intent(in) :: what
    double precision, intent(in) :: step, along(:)
    double precision, allocatable, intent(out) :: reply(:)
    logical, intent(out) :: good
    integer(c_int) :: ends(2), pid, status, ignored
    integer(c_intptr_t) :: got
    double precision, allocatable, target :: buffer(:)
    integer(c_int8_t), allocatable, target :: bytes(:), more(:)
    integer :: length
    run = .false.
    good = .false.
    allocate (reply(0))
    if (c_pipe(ends) /= 0) return
    pid = c_fork()
    if (pid == 0) then
      ignored = c_close(ends(1))
      to_parent = ends(2)
      ! The first run takes as long as the checks of blocks inside.
      if (quiet) ignored = c_alarm(int(seconds, c_int))
      kind_of_run = what
      t = step
      direction = along
      at_x = 0
      at_c = 0
      at_out = 0
      answers = 0
      if (allocated(answer)) deallocate (answer)
      if (projected) then
        allocate (answer(size(weights, 2)))
        answer = 0
        answers = size(answer)
      else
        allocate (answer(64))
      end if
      run = .true.
      return
    end if
    ignored = c_close(ends(2))
    allocate (bytes(8192))
    length = 0
    do
      if (length == size(bytes)) then
        allocate (more(2*length))
        more(:length) = bytes
        call move_alloc(more, bytes)
      end if
      got = c_read(ends(1), c_loc(bytes(length + 1)), int(size(bytes) - length, c_intptr_t))
      if (got <= 0) exit
      length = length + int(got)
    end do
    ignored = c_close(ends(1))
    if (pid > 0) ignored = c_waitpid(pid, status, 0)
    good = pid > 0 .and. length >= 8 .and. mod(length, 8) == 0
    if (.not. good) return
    buffer = transfer(bytes(:length), buffer, length/8)
    ! The last number says that all came.
    good = buffer(length/8) == 1d0
    if (good) reply = buffer(:length/8 - 1)
  end function

  subroutine answer_with(value)
    double precision, intent(in) :: value
    double precision, allocatable, target :: more(:)
    if (answers == size(answer)) then
      allocate (more(2*answers + 8))
      more(:answers) = answer
      call move_alloc(more, answer)
    end if
    answers = answers + 1
    answer(answers) = value
  end subroutine

  subroutine add(list, length, value)
    double precision, allocatable, intent(inout) :: list(:)
    integer, intent(inout) :: length
    double precision, intent(in) :: value
    double precision, allocatable :: more(:)
    if (length == size(list)) then
      allocate (more(2*length + 16))
      more(:length) = list
      call move_alloc(more, list)
    end if
    length = length + 1
    list(length) = value
  end subroutine

  ! A direction in which all variables, or one, change by about their own size.
  function anywhere(only) result(v)
    integer, intent(in) :: only
    double precision :: v(nx), size_of, largest(nint(maxval(of_x(:nx))))
    integer :: i, k
    largest = 0
    do i = 1, nx
      k = nint(of_x(i))
      largest(k) = max(largest(k), abs(x(i)))
    end do
    do i = 1, nx
      k = nint(of_x(i))
      size_of = abs(x(i))
      if (size_of == 0) size_of = largest(k)
      if (size_of == 0) size_of = 1
      v(i) = roll()*size_of
      if (only /= 0 .and. only /= k) v(i) = 0
    end do
  end function

  ! The step along `v` that changes variables by about their own size.
  double precision function natural(v)
    double precision, intent(in) :: v(:)
    natural = maxval(abs(x(:nx)), mask=v /= 0)
    if (natural <= 0) natural = 1
    natural = natural/maxval(abs(v))
  end function

  ! Notes a test: what the derivative says, and the values of the statements around.
  ! True in a new process.
  logical function around(projection, number, v, claimed, scale, exact, has_exact, stride)
    integer, intent(in) :: projection(:), number, stride
    double precision, intent(in) :: v(:), claimed(:), scale(:), exact(:)
    logical, intent(in) :: has_exact
    double precision, allocatable :: reply(:), values(:,:,:), center(:)
    double precision :: step, nan
    integer :: i, side, p, steps
    logical :: good
    character(len=26) :: other
    around = .false.
    steps = 20/stride
    nan = 0
    nan = nan/nan
    allocate (values(2, steps, size(claimed)), center(size(claimed)))
    values = nan
    center = nan
    if (run(statements, 0d0, v, reply, good)) then
      around = .true.
      return
    end if
    if (good) center = reply
    do i = 1, steps
      step = natural(v)*0.5d0**(3 + stride*i)
      do side = 1, 2
        if (run(statements, merge(step, -step, side == 1), v, reply, good)) then
          around = .true.
          return
        end if
        if (good) values(side, i, :) = reply
      end do
    end do
    do p = 1, size(claimed)
      other = '-'
      if (has_exact) other = shown(exact(p))
      call note('TEST '//shown(dble(projection(p)))//shown(dble(number))//shown(claimed(p))// &
                shown(scale(p))//other//shown(center(p)))
      do i = 1, steps
        call note('AT '//shown(natural(v)*0.5d0**(3 + stride*i))//shown(values(1, i, p))// &
                  shown(values(2, i, p)))
      end do
    end do
  end function

  ! Direction number `q` of a forward block. Of several columns, the program's are taken one after
  ! the other, up to eight of them; the last direction is another one, in any column.
  function direction_of(q) result(v)
    integer, intent(in) :: q
    double precision :: v(nx)
    integer :: asked
    if (columns == 0) then
      if (q == 1) then
        v = given(:nx)
      else
        v = anywhere(0)
      end if
      return
    end if
    asked = min(columns, 8)
    if (q > asked) then
      chosen = min(columns, 1 + int(2*(abs(roll()) - 0.5d0)*columns))
      v = anywhere(0)
      return
    end if
    chosen = q
    if (columns > asked) chosen = 1 + ((q - 1)*(columns - 1))/(asked - 1)
    v = also(chosen:nx*columns:columns)
    if (is_pattern) v = v*anywhere(0)
  end function

  ! What a direction is called: of several, its column, or 0 for another direction.
  integer function called(q)
    integer, intent(in) :: q
    called = q
    if (columns == 0) return
    called = chosen
    if (q > min(columns, 8)) called = 0
  end function

  ! All runs of a forward block. True in a new process.
  logical function forward(outputs, stride)
    double precision, intent(in) :: outputs(:)
    integer, intent(in) :: stride
    double precision, allocatable :: reply(:), v(:), claimed(:), scale(:), largest(:), biggest(:)
    double precision :: differs
    integer :: q, j, m, k, count, directions
    logical :: good
    logical, allocatable :: many(:)
    forward = .false.
    m = size(outputs)/2
    count = maxval(of_out)
    many = [(.false., k=1, count)]
    do j = 2, m
      if (of_out(j) == of_out(j - 1)) many(of_out(j)) = .true.
    end do
    directions = 2
    if (columns > 0) directions = min(columns, 8) + 1
    if (is_pattern) directions = directions - 1
    do q = 1, directions
      v = direction_of(q)
      if (all(v == 0)) cycle
      projected = .false.
      if (run(derivative, 0d0, v, reply, good)) then
        forward = .true.
        return
      end if
      if (.not. good .or. size(reply) /= 3*m) then
        call note('FAIL derivative')
        return
      end if
      claimed = [(0d0, k=1, count)]
      scale = claimed
      largest = claimed
      biggest = claimed
      differs = 0
      if (allocated(weights)) deallocate (weights)
      allocate (weights(m, count))
      weights = 0
      do j = 1, m
        k = of_out(j)
        if (abs(reply(3*j)) > largest(k)) largest(k) = abs(reply(3*j))
        if (outputs(2*j) == outputs(2*j)) biggest(k) = max(biggest(k), abs(outputs(2*j)))
      end do
      do j = 1, m
        if (abs(reply(3*j - 1) - outputs(2*j)) > differs*biggest(of_out(j))) &
          differs = abs(reply(3*j - 1) - outputs(2*j))/max(biggest(of_out(j)), tiny(1d0))
      end do
      call note('PRIMAL '//shown(differs))
      do j = 1, m
        k = of_out(j)
        if (is_pattern) then
          ! Of a number that may depend on the column nothing is claimed, and of others zero.
          if (reply(3*j) == 0) weights(j, k) = roll()
          cycle
        end if
        weights(j, k) = 1
        ! Of several elements, a sum with any weights.
        if (many(k)) weights(j, k) = roll()
        if (many(k) .and. largest(k) > 0 .and. largest(k) < huge(1d0)) &
          weights(j, k) = weights(j, k)/max(abs(reply(3*j)), 1d-2*largest(k))
        claimed(k) = claimed(k) + weights(j, k)*reply(3*j)
        scale(k) = scale(k) + abs(weights(j, k)*reply(3*j))
      end do
      projected = .true.
      if (around([(k, k=1, count)], called(q), v, claimed, scale, claimed, .false., stride)) then
        forward = .true.
        return
      end if
    end do
  end function

  ! Sets the cotangents of projection `p` of a reverse block, of `asked` with those of the program. Of several
  ! columns up to seven are taken, one after the other; the last cotangents are others, in any column.
  subroutine project(p, asked)
    integer, intent(in) :: p, asked
    integer :: j
    if (p > asked) then
      if (columns > 0) chosen = min(columns, 1 + int(2*(abs(roll()) - 0.5d0)*columns))
      cotangent(:nc) = [(roll(), j=1, nc)]
    else if (columns > 0) then
      chosen = p
      if (columns > asked) chosen = 1 + ((p - 1)*(columns - 1))/(asked - 1)
      cotangent(:nc) = also(chosen:nc*columns:columns)
    end if
  end subroutine

  ! All runs of a reverse block. True in a new process.
  logical function backward(outputs, stride)
    double precision, intent(in) :: outputs(:)
    integer, intent(in) :: stride
    double precision, allocatable :: reply(:), v(:), g(:,:), w(:,:), claimed(:), scale(:), exact(:)
    integer, allocatable :: names(:)
    integer :: q, j, m, p, count, asked
    logical :: good, has_exact
    backward = .false.
    m = size(outputs)/2
    if (m /= nc) then
      call note('FAIL cotangents')
      return
    end if
    asked = max(1, min(columns, 7))
    allocate (g(nx, asked + 1), w(m, asked + 1), names(asked + 1))
    do p = 1, asked + 1
      call project(p, asked)
      ! What the cotangents are called: of several, their column, or 0 for others.
      names(p) = p
      if (columns > 0) names(p) = merge(chosen, 0, p <= asked)
      w(:, p) = cotangent(:nc)
      projected = .false.
      v = [(0d0, j=1, nx)]
      if (run(derivative, 0d0, v, reply, good)) then
        backward = .true.
        return
      end if
      if (.not. good .or. size(reply) /= 2*nx) then
        call note('FAIL derivative')
        return
      end if
      g(:, p) = reply(2::2)
    end do
    count = nint(maxval(of_x(:nx)))
    ! One variable after the other where there are few, then all.
    do q = 0, merge(count, 0, count > 1 .and. count <= 6)
      v = anywhere(q)
      has_exact = .false.
      exact = [(0d0, p=1, asked + 1)]
      if (has_tangent) then
        projected = .false.
        if (run(tangent, 0d0, v, reply, good)) then
          backward = .true.
          return
        end if
        has_exact = good .and. size(reply) == 2*m
        if (has_exact) exact = [(sum(w(:, p)*reply(2::2)), p=1, asked + 1)]
      end if
      claimed = exact
      scale = exact
      do p = 1, asked + 1
        claimed(p) = sum(g(:, p)*v)
        scale(p) = sum(abs(g(:, p)*v))
        if (has_exact) scale(p) = max(scale(p), sum(abs(w(:, p)*reply(2::2))))
      end do
      weights = w
      projected = .true.
      if (around(names, q, v, claimed, scale, exact, has_exact, stride)) then
        backward = .true.
        return
      end if
    end do
  end function

end module

! Shall this execution of a block be checked? True in the process that does it.
logical function farfel_v_want(package, block)
  use farfel_verify
  implicit none
  character(len=*) :: package
  integer :: block
  integer(c_int) :: pid, status, ignored
  farfel_v_want = .false.
  if (.not. started) call start
  if (quiet .or. file == '') return
  if (.not. is_first(package, block)) return
  pid = c_fork()
  if (pid > 0) then
    ignored = c_waitpid(pid, status, 0)
  else if (pid == 0) then
    forked = .true.
    call silence
    notes = ''
    if (allocated(x)) deallocate (x, given, cotangent, of_x, also)
    if (allocated(of_out)) deallocate (of_out)
    allocate (x(16), given(16), cotangent(16), of_x(16), also(16))
    columns = 0
    na = 0
    is_pattern = .false.
    last_of_x = 0
    nx = 0
    nc = 0
    farfel_v_want = .true.
  end if
end function

! The block: its package, its number, whether it is a reverse one, and whether it has a tangent.
subroutine farfel_v_block(package, block, is_reverse, with_tangent)
  use farfel_verify
  implicit none
  character(len=*) :: package
  integer :: block, is_reverse, with_tangent
  character(len=20) :: number
  write (number, '(i0)') block
  call note('BLOCK '//trim(number)//' '//package)
  reverse = is_reverse /= 0
  has_tangent = with_tangent /= 0
end subroutine

! An element of an independent variable, and its tangent in the program.
subroutine farfel_v_in(variable, value, along)
  use farfel_verify
  implicit none
  integer :: variable, n
  double precision :: value, along
  character(len=20) :: number
  n = nx
  call add(x, n, value)
  n = nx
  call add(of_x, n, dble(variable))
  call add(given, nx, along)
  if (variable /= last_of_x) shown_of_x = 0
  last_of_x = variable
  shown_of_x = shown_of_x + 1
  if (shown_of_x <= 4) then
    write (number, '(i0)') variable
    call note('X '//trim(number)//' '//shown(value))
  end if
end subroutine

! There are several directions, or a pattern has so many columns.
subroutine farfel_v_columns(count, pattern)
  use farfel_verify
  implicit none
  integer :: count, pattern
  columns = count
  is_pattern = pattern /= 0
end subroutine

! The tangent or cotangent of the last number in the next column.
subroutine farfel_v_also(along)
  use farfel_verify
  implicit none
  double precision :: along
  call add(also, na, along)
end subroutine

! The same of a pattern.
subroutine farfel_v_also_if(may)
  use farfel_verify
  implicit none
  logical(1) :: may
  call add(also, na, merge(1d0, 0d0, may))
end subroutine

! The cotangent of an element of a dependent variable.
subroutine farfel_v_cotangent(value)
  use farfel_verify
  implicit none
  double precision :: value
  call add(cotangent, nc, value)
end subroutine

! Does all runs. True in the process of each run, which then does `what`.
logical function farfel_v_run(what)
  use farfel_verify
  implicit none
  integer :: what, unit, status, stride, j
  double precision, allocatable :: reply(:), nowhere(:)
  integer(8) :: before, after, rate
  logical :: good
  farfel_v_run = .false.
  projected = .false.
  nowhere = [(0d0, j=1, nx)]
  call system_clock(before, rate)
  ! In this run only blocks inside are checked.
  if (run(statements, 0d0, nowhere, reply, good)) then
    farfel_v_run = .true.
    what = statements
    return
  end if
  if (.not. good) then
    call note('FAIL statements')
  else if (nx > 0 .and. size(reply) > 0) then
    quiet = .true.
    ! Once more, for the time without those.
    call system_clock(before, rate)
    if (run(statements, 0d0, nowhere, reply, good)) then
      farfel_v_run = .true.
      what = statements
      return
    end if
    call system_clock(after)
    stride = 1
    if (after - before > rate/50) stride = 2
    if (after - before > rate/4) stride = 4
    of_out = nint(reply(1::2))
    if (reverse) then
      farfel_v_run = backward(reply, stride)
    else
      farfel_v_run = forward(reply, stride)
    end if
    if (farfel_v_run) then
      what = kind_of_run
      return
    end if
  end if
  open (newunit=unit, file=file, position='append', access='stream', form='formatted', iostat=status)
  if (status == 0) then
    write (unit, '(a)', iostat=status) notes//'END'
    close (unit)
  end if
  call c_exit(0_c_int)
end function

! The next element of the independent variables.
double precision function farfel_v_next()
  use farfel_verify
  implicit none
  at_x = at_x + 1
  farfel_v_next = x(at_x) + t*direction(at_x)
end function

! Its tangent.
double precision function farfel_v_along()
  use farfel_verify
  implicit none
  farfel_v_along = direction(at_x)
end function

! The column that has the direction of the run.
integer function farfel_v_chosen()
  use farfel_verify
  implicit none
  farfel_v_chosen = chosen
end function

! The tangent in a column of the element that was placed `before` the last one.
double precision function farfel_v_column(column, before)
  use farfel_verify
  implicit none
  integer :: column, before
  if (column == chosen) then
    farfel_v_column = direction(at_x - before)
  else
    farfel_v_column = also((at_x - before - 1)*columns + column)
  end if
end function

! The tangent of the next element, where the values were placed before.
double precision function farfel_v_alongside()
  use farfel_verify
  implicit none
  at_c = at_c + 1
  farfel_v_alongside = direction(at_c)
end function

! The next cotangent of the dependent variables.
double precision function farfel_v_given()
  use farfel_verify
  implicit none
  at_c = at_c + 1
  farfel_v_given = cotangent(at_c)
end function

! The cotangent in a column of the element that was asked for `before` the last one.
double precision function farfel_v_given_in(column, before)
  use farfel_verify
  implicit none
  integer :: column, before
  if (column == chosen) then
    farfel_v_given_in = cotangent(at_c - before)
  else
    farfel_v_given_in = also((at_c - before - 1)*columns + column)
  end if
end function

! A number that a run gives: of the variable of this number, and what belongs to it.
subroutine farfel_v_out(variable, value)
  use farfel_verify
  implicit none
  integer :: variable, p
  double precision :: value
  if (projected) then
    at_out = at_out + 1
    do p = 1, size(weights, 2)
      if (weights(at_out, p) /= 0) answer(p) = answer(p) + weights(at_out, p)*value
    end do
  else
    call answer_with(dble(variable))
    call answer_with(value)
  end if
end subroutine

! The same, with a second number.
subroutine farfel_v_outs(variable, value, along)
  use farfel_verify
  implicit none
  integer :: variable
  double precision :: value, along
  call answer_with(dble(variable))
  call answer_with(value)
  call answer_with(along)
end subroutine

! The same, with whether it may depend on the column.
subroutine farfel_v_outs_if(variable, value, may)
  use farfel_verify
  implicit none
  integer :: variable
  double precision :: value
  logical(1) :: may
  call answer_with(dble(variable))
  call answer_with(value)
  call answer_with(merge(1d0, 0d0, may))
end subroutine

! Ends a run.
subroutine farfel_v_send
  use farfel_verify
  implicit none
  integer(c_intptr_t) :: sent, rest, at
  call answer_with(1d0)
  at = 1
  rest = 8_c_intptr_t*answers
  do while (rest > 0)
    sent = c_write(to_parent, c_loc(answer(at)), rest)
    if (sent <= 0 .or. mod(sent, 8_c_intptr_t) /= 0) exit
    at = at + sent/8
    rest = rest - sent
  end do
  call c_exit(0_c_int)
end subroutine

! Stands before STOP: nothing that was forked goes back to where the program was called.
subroutine farfel_v_stop
  use farfel_verify
  implicit none
  if (forked) call c_exit(3_c_int)
end subroutine
