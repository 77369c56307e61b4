//! Instances, whose state Rust may change.

use crate::calls::wrong;
use bad_calls_state::Model;

/// Makes the calls.
pub fn all() {
    let mut a = Model::new();
    let y = [1.0; 4];
    a.sweep(&y).unwrap();
    wrong("sweep", || a.sweep(&y[..3]));
    for (name, n) in [("more", 5), ("huge", i32::MAX)] {
        a.common_grid_mut().n = n;
        wrong(&format!("sweep {name}"), || a.sweep(&[1.0; 9]));
        wrong(&format!("adjust {name}"), || a.adjust(&[1.0; 5]));
    }
    a.common_grid_mut().n = -3;
    wrong("adjust below", || a.adjust(&y));
    a.common_grid_mut().n = i32::MIN;
    wrong("adjust lowest", || a.adjust(&y));
    a.common_grid_mut().n = 4;
    for index in [0, 6, -1_000_000, i32::MIN, i32::MAX] {
        a.common_grid_mut().index[2] = index;
        wrong(&format!("sweep {index}"), || a.sweep(&y));
    }
    a.common_grid_mut().index[2] = 3;
    a.common_grid_mut().name = [0xff; 4];
    a.common_grid_mut().q = 0x7fff_0000;
    a.adjust(&y).unwrap();
    wrong("pop", || a.pop(&mut 0));
    let mut b = a.clone();
    wrong("push", || {
        for k in 0..11 {
            b.push(k)?;
        }
        Ok(())
    });
    a.common_jump_mut().l = 99;
    wrong("again", || a.again());
    a.common_jump_mut().l = -7;
    wrong("again below", || a.again());
    wrong("forall", || a.forall(|index, _| index[3] = 6, 4));
    wrong("forall count", || a.forall(|_, n| *n = 77, 4));
    wrong("forall panics", || {
        a.forall(|_, _| panic!("with an instance"), 4)
    });
    wrong("energy", || a.energy(4, &y));
    wrong("energy_gradient", || {
        a.energy_gradient(4, &y, &mut [0.0; 4])
    });
    wrong("energy_gradient short", || {
        a.energy_gradient(3, &y, &mut [0.0; 2])
    });
    // Instances stay usable, each in its own thread.
    std::thread::scope(|s| {
        for mut a in vec![Model::new(); 8] {
            s.spawn(move || {
                a.sweep(&[1.0; 4]).unwrap();
                assert!(a.sweep(&[1.0; 3]).is_err());
                assert_eq!(a.common_grid().x[0], 3.0);
            });
        }
    });
}
