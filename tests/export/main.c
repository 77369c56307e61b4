#include "my_counter.h"
#include "numerics.h"
#include <stdio.h>

static int square(void *context, double x, double *result) {
    *result = x * x - 2;
    return 0;
}

static int tangent(void *context, double x, double xd, double *y, double *yd) {
    ++*(int *)context;
    *y = x * x - 2;
    *yd = 2 * x * xd;
    return 0;
}

static int refuses(void *context, double x, double xd, double *y, double *yd) {
    return 42;
}

/* The derivative (y2, -y1). */
static int turn(void *context, int32_t n, double *t, double *y, size_t y_elements, double *dy, size_t dy_elements) {
    dy[0] = y[1];
    dy[1] = -y[0];
    return n == 2 && y_elements == 2 && dy_elements == 2 ? 0 : 1;
}

static my_counter_model *model;

/* Calls the instance that is calling. */
static int again(void *context, int32_t *n) {
    int32_t total;
    *(int *)context = my_counter_add(model, 1, &total);
    printf("inside: %s\n", my_counter_error_message());
    *n = 100;
    return 0;
}

static void shown(const char *what, int result) {
    printf("%s: %d %s", what, result, numerics_error_message());
    if (numerics_error_line() != 0)
        printf(" [%s %d]", numerics_error_file(), numerics_error_line());
    if (numerics_error_code() != 0)
        printf(" code %d", numerics_error_code());
    printf("\n");
}

int main(void) {
    double x[3] = {1, 2, 3}, y[3] = {4, 5, 6}, r = 0, g[3], v, z = 1;
    shown("dot", numerics_dot(3, x, 3, y, 3, &r));
    printf("%g\n", r);
    shown("short", numerics_dot(3, x, 3, y, 2, &r));
    shown("null", numerics_dot(3, x, 3, NULL, 3, &r));
    shown("no result", numerics_dot(3, x, 3, y, 3, NULL));
    shown("none", numerics_dot(0, NULL, 0, NULL, 0, &r));
    shown("gradient", numerics_cost_gradient(3, x, 3, g, 3, &r));
    printf("%g: %g %g %g\n", r, g[0], g[1], g[2]);
    shown("overlap", numerics_cost_gradient(2, x, 3, x + 1, 2, &r));

    int calls = 0;
    int32_t iterations;
    shown("newton", numerics_newton(square, NULL, tangent, &calls, &z, 1e-12, &iterations));
    printf("%.9f after %d iterations, %s\n", z, iterations, calls == iterations ? "as many calls" : "wrong");
    shown("refused", numerics_newton(square, NULL, refuses, NULL, &z, 1e-12, &iterations));
    shown("no procedure", numerics_newton(NULL, NULL, refuses, NULL, &z, 1e-12, &iterations));
    double t = 0, state[2] = {1, 0}, change[2];
    shown("euler", numerics_euler(turn, NULL, 2, &t, state, 2, 0.5, change, 2));
    printf("%g: %g %g\n", t, state[0], state[1]);

    shown("bounds", numerics_pick(7, 3, x, 3, &v));
    shown("stop", numerics_halt(1));
    shown("file", numerics_openit("nowhere.dat", 11) != NUMERICS_IO);
    shown("text", numerics_openit("\xff", 1));
    float means[2] = {1, 4}, mean;
    bool any;
    char name[8] = "        ";
    numerics_complex_float c = {1, 2};
    shown("means", numerics_means(2, means, 2, &mean, &any, name, 8, &c));
    printf("%g %d %.8s| %g %g\n", mean, any, name, c.re, c.im);
    shown("short text", numerics_means(2, means, 2, &mean, &any, name, 7, &c));
    int32_t n;
    numerics_next(&n);
    numerics_next(&n);
    printf("next %d\n", n);
    bool from[3] = {true, false, true}, to[3];
    numerics_mark(3, from, 3, to, 3);
    printf("mark %d %d %d\n", to[0], to[1], to[2]);

    /* The other library: its errors are caught there, and instances share nothing. */
    int32_t total;
    int inner = -1;
    my_counter_model *clone;
    model = my_counter_model_new();
    my_counter_add(model, 3, &total);
    int result = my_counter_halt(model, 2);
    printf("halt %d: %s\n", result, my_counter_error_message());
    printf("clone %d\n", my_counter_model_clone(model, &clone));
    my_counter_add(clone, 10, &total);
    printf("clone %d\n", total);
    my_counter_each(model, again, &inner);
    my_counter_add(model, 0, &total);
    printf("inside %d, outside %d\n", inner == MY_COUNTER_ARGUMENT, total);
    printf("null %d\n", my_counter_add(NULL, 0, &total));
    my_counter_model_free(clone);
    my_counter_model_free(model);
    return 0;
}
