! SPDX-License-Identifier: GPL-2.0
! work MILLISECONDS: busy at the bottom of a chain of calls
module calls
  real :: a(60, 60), b(60, 60)
  integer :: span
contains
  subroutine busy() bind(C)
    character(len=20) :: text

    call random_number(a)
    b = matmul(a, a) + sin(a)
    write (text, '(f12.6)') b(1, 1)
    read (text, *) b(2, 2)
  end subroutine

  subroutine two() bind(C)
    integer(8) :: start, now, rate

    call system_clock(start, rate)
    now = start
    do while ((now - start) * 1000 / rate < span)
      call busy()
      call system_clock(now)
    end do
  end subroutine

  subroutine one() bind(C)
    call two()
  end subroutine
end module

program work
  use calls
  character(len=20) :: arg

  call get_command_argument(1, arg)
  read (arg, *) span
  call one()
end program
