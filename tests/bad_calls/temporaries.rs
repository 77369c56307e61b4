//! Temporary values for which there is no memory, and what a function demands of its arguments.

use crate::calls::wrong;
use crate::fortran::raw as f;

const HUGE: i32 = i32::MAX;

pub fn all() {
    let mut v = 0.0;
    let many = vec![1.0; 1_000_000];
    wrong("copied", || f::copied(1_000_000, HUGE, &many, &mut v));
    wrong("copied often", || {
        f::copied(1_000_000, 1_000_000, &many, &mut v)
    });
    wrong("copied negative", || f::copied(3, -1, &[1.0; 3], &mut v));
    f::copied(3, 2, &[1.0; 3], &mut v).unwrap();
    assert_eq!(v, 6.0);
    f::copied(3, 0, &[1.0; 3], &mut v).unwrap();
    assert_eq!(v, 0.0);
    wrong("copyt", || f::copyt(HUGE, &"ab".repeat(10_000), &mut v));
    wrong("copyt negative", || f::copyt(-1, "ab", &mut v));
    f::copyt(1_500_000, "ab", &mut v).unwrap();
    assert_eq!(v, 3_000_000.0);
    wrong("copym", || f::copym(400_000_000, &[1.0; 3], &mut v));
    wrong("outerm", || f::outerm(1_000_000, &many, &mut v));
    f::outerm(3, &many, &mut v).unwrap();
    assert_eq!(v, 9.0);

    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut b = [0.0; 6];
    let mut shaped = |n, m, shape: [i32; 2], order: [i32; 2]| {
        f::shapev(n, m, &shape, &order, &a, &[7.0; 2], &mut b)
    };
    shaped(6, 2, [3, 2], [2, 1]).unwrap();
    wrong("shapev", || shaped(5, 2, [3, 2], [2, 1]));
    wrong("shapev other", || shaped(6, 2, [2, 3], [2, 1]));
    wrong("shapev huge", || shaped(6, 2, [HUGE, HUGE], [2, 1]));
    wrong("shapev negative", || shaped(6, 2, [-3, -2], [2, 1]));
    for order in [[1, 1], [0, 1], [2, 3], [HUGE, i32::MIN]] {
        let name = format!("shapev order {order:?}");
        wrong(&name, || shaped(6, 2, [3, 2], order));
    }
    wrong("shapev without pad", || {
        f::shapev(6, 0, &[3, 2], &[2, 1], &[1.0; 5], &[], &mut [0.0; 6])
    });
    f::shapev(6, 2, &[3, 2], &[2, 1], &a, &[7.0; 2], &mut b).unwrap();
    assert_eq!(b, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);

    for at in [0, 4, HUGE, i32::MIN] {
        wrong(&format!("vectrs {at}"), || {
            f::vectrs(3, 2, 1, &mut [1, at], &[1.0; 3], &mut 0.0)
        });
        wrong(&format!("vectrw {at}"), || f::vectrw(3, 2, &[1, at]));
        wrong(&format!("vectr2 {at}"), || {
            f::vectr2(3, 2, 1, &mut [1, at], &[1.0; 9], &mut 0.0)
        });
        if at != 0 {
            wrong(&format!("vectr2 range {at}"), || {
                f::vectr2(3, 2, at, &mut [1, 2], &[1.0; 9], &mut 0.0)
            });
        }
    }
    wrong("vectr2 short", || {
        f::vectr2(3, 2, 1, &mut [1, 2], &[1.0; 5], &mut 0.0)
    });
    wrong("vectrs short", || {
        f::vectrs(3, 2, 1, &mut [1], &[1.0; 3], &mut 0.0)
    });
    wrong("vectrw far", || f::vectrw(4, 2, &[1, 3]));
    f::vectrw(5, 2, &[1, 3]).unwrap();
    f::vectr2(3, 2, 1, &mut [1, 3], &[1.0; 9], &mut v).unwrap();

    wrong("moved", || f::moved(3, 5, &mut [0.0; 3], &mut [1; 5], 3));
    wrong("moved far", || {
        f::moved(2, 6, &mut [0.0; 2], &mut [1; 6], 2)
    });
    wrong("moved times", || {
        f::moved(3, 6, &mut [0.0; 3], &mut [1; 6], 4)
    });
    wrong("moved huge", || {
        f::moved(3, 6, &mut [0.0; 3], &mut [1; 6], HUGE)
    });
    let mut numbers = [1, 2, 3, 4, 5, 6];
    f::moved(3, 6, &mut [0.0; 3], &mut numbers, 3).unwrap();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);

    entries();

    wrong("trimme", || f::trimme("   ", 1));
    wrong("trimme behind", || f::trimme("ab", 3));
    wrong("trimme empty", || f::trimme("", 1));
    assert_eq!(f::trimme("ab ", 2), Ok(97 + 98 + 97));
}

fn entries() {
    let mut y = 0.0;
    wrong("partn", || f::partn(2, &mut y));
    f::partn(1, &mut y).unwrap();
    assert_eq!(y, 1.0);
    wrong("partn further", || f::partn(3, &mut y));
    wrong("parts2", || f::parts2("abcd", 1));
    wrong("parts2 further", || f::parts2("abcd", 10));
    wrong("parts2 with X", || f::parts2("abcd", 2));
    f::parts2("abcd", 0).unwrap();
    wrong("parts", || f::parts(2, &[1.0], "abcd", &mut y));
    wrong("parts with a short text", || {
        f::parts(4, &[1.0; 2], "abc", &mut y)
    });
    f::parts(4, &[1.0; 2], "abcA", &mut y).unwrap();
    assert_eq!(y, 66.0);
    wrong("peek", || f::peek(2));
    f::peek(0).unwrap();
    wrong("peeks", || f::peeks(3, &mut [0.0; 2]));
    f::peeks(2, &mut [0.0; 2]).unwrap();
}

/// Calls that need more memory than this process may have. Its limit is much larger than what is needed besides.
pub fn without_memory() {
    const N: usize = 4_000_000;
    let n = N as i32;
    let (mut a, mut q) = (vec![0.5; N], vec![true; N]);
    let mut b = vec![0.5; N];
    let ix: Vec<i32> = (1..=n).collect();
    let (s, mut t) = (vec![b'a'; 8 * N], vec![b'b'; 8 * N]);
    q[0] = true;
    let mut all: Vec<Vec<u8>> = Vec::with_capacity(10_000);
    loop {
        let mut block = Vec::new();
        if block.try_reserve_exact(1 << 20).is_err() {
            break;
        }
        all.push(block);
    }
    all.truncate(all.len() - 12);
    let mut v = 0.0;
    for k in 1..=42 {
        wrong(&format!("tempor {k}"), || {
            f::tempor(
                k, n, 2000, 2000, &mut a, &mut b, &ix, &q, &s, &mut t, &mut v,
            )
        });
    }
    for k in 1..=10 {
        f::notemp(k, n, 2000, 2000, &mut a, &mut b, &s, &mut t, &mut v).unwrap();
    }
    drop(all);
    // With memory, they return.
    for k in 1..=42 {
        f::tempor(
            k,
            1000,
            20,
            50,
            &mut a,
            &mut b,
            &ix,
            &q,
            &s[..100],
            &mut t[..100],
            &mut v,
        )
        .unwrap();
    }
}
