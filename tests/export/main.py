import numpy as np
import pynumerics as fortran


def error(function, *args, **keywords):
    try:
        result = function(*args, **keywords)
    except Exception as raised:
        known = isinstance(raised, fortran.Error)
        about = f" [{raised.kind} {raised.file} {raised.line} {raised.code}]" if known else ""
        print(f"{type(raised).__name__}: {raised}{about}")
    else:
        print("no error:", result)


x = np.array([1.0, 2.0, 3.0])
print(fortran.dot(x, [4, 5, 6]), fortran.dot(x, x, n=2))
error(fortran.dot, x, [4.0, 5.0])
error(fortran.dot, x, [4.0, 5.0], n=3)
error(fortran.dot, x, ["a", "b", "c"])
error(fortran.dot, x, x, n=2.5)
error(fortran.dot, x, x, n=2**40)

# Assigned arrays.
g = np.zeros(3)
fortran.add(x, g)
print(g)
g.flags.writeable = False
error(fortran.add, x, g)
error(fortran.add, x, [0.0, 0.0, 0.0])
error(fortran.add, x, np.zeros(6)[::2])
error(fortran.add, x, np.zeros(3, "f4"))
error(fortran.add, x, x)

# Arrays that are always set are returned.
print(fortran.cost_gradient(x))

# Matrices: in any order if they are only read.
a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
print(fortran.matvec(3, a, [1, 1]))
print(fortran.matvec(0, a, [1, 1]))
error(fortran.matvec, 3, a, [1, 1], lda=7)
error(fortran.matvec, 4, a, [1, 1])
error(fortran.matvec, 2.5, a, [1, 1])
b = fortran.table(2, 3)
print(b, b.flags.f_contiguous)

# What went wrong, and work arrays.
print(fortran.solve([2.0, 4.0], [1.0, 1.0]))
error(fortran.solve, [2.0, 0.0], [1.0, 1.0])
error(fortran.solve, [], [])

# Callables, and exceptions in them.
calls = []


def tangent(x, xd, y, yd):
    calls.append(x)
    y[()] = x * x - 2
    yd[()] = 2 * x * xd


root, iterations = fortran.newton(lambda x: x * x - 2, tangent, 1.0, 1e-12)
print(f"{root:.9f}", iterations == len(calls))


def broken(x, xd, y, yd):
    raise KeyError("mine")


error(fortran.newton, lambda x: x, broken, 1.0, 1e-12)
error(fortran.newton, lambda x: x, 3, 1.0, 1e-12)


def turn(n, t, y, dy):
    dy[0] = y[1]
    dy[1] = -y[0]


y = np.array([1.0, 0.0])
dy = np.zeros(2)
print(fortran.euler(turn, 0.0, y, 0.5, dy), y, dy)

print(fortran.means([1, 4], 1 + 2j))
error(fortran.pick, 7, x)
error(fortran.halt, 1)
error(fortran.openit, "nowhere.dat")
print(fortran.next(), fortran.next())
print(fortran.mark([True, False, True]))
print(fortran.dot.__doc__.splitlines()[0])
print(*fortran.solve.__doc__.splitlines()[-5:], sep="\n")
