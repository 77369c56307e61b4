//! Runs interdependent tasks in parallel under cargo's jobserver.

use jobserver::{Acquired, Client, HelperThread};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The number of tasks that may run at once, and the jobserver that hands out tokens for them.
pub(crate) struct Workers {
    count: usize,
    jobserver: Option<Client>,
}

impl Workers {
    /// Returns the workers that the environment allows: in a build script as many as cargo grants, elsewhere
    /// as many as there are processors.
    pub(crate) fn from_environment() -> Workers {
        let number = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok());
        let count = number
            .or_else(|| std::thread::available_parallelism().ok().map(|n| n.get()))
            .unwrap_or(1);
        Workers {
            count,
            jobserver: inherited(),
        }
    }

    /// Returns the maximum number of parallel tasks.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Runs every task after those that it needs (indices in `needs`), on this thread and others. `act`
    /// receives the index of a task and the number of the worker; if it returns false, the tasks that depend
    /// on this one are skipped.
    ///
    /// Of the tasks that are ready, the one with the lowest index is started first.
    pub(crate) fn run(&self, needs: &[Vec<usize>], act: &(dyn Fn(usize, usize) -> bool + Sync)) {
        let mut state = State {
            ready: BTreeSet::new(),
            missing: needs
                .iter()
                .map(|n| n.iter().collect::<BTreeSet<_>>().len())
                .collect(),
            failed: vec![false; needs.len()],
            open: needs.len(),
        };
        let mut wanted_by = vec![Vec::new(); needs.len()];
        for (task, needed) in needs.iter().enumerate() {
            if needed.is_empty() {
                state.ready.insert(task);
            }
            for n in needed.iter().collect::<BTreeSet<_>>() {
                wanted_by[*n].push(task);
            }
        }
        let threads = self.count.min(needs.len()).max(1);
        let queue = Queue {
            state: Mutex::new(state),
            changed: Condvar::new(),
            wanted_by,
            act,
        };
        let tokens = Tokens::new(self.jobserver.as_ref().filter(|_| threads > 1));
        std::thread::scope(|scope| {
            for worker in 1..threads {
                let (queue, tokens) = (&queue, &tokens);
                scope.spawn(move || {
                    while queue.wait() {
                        // No token: cargo hands out no more.
                        let Some(_token) = tokens.get() else {
                            return;
                        };
                        while queue.run_one(worker) {}
                    }
                });
            }
            // This process always holds one token implicitly, so this thread may run tasks without asking.
            while queue.wait() {
                queue.run_one(0);
            }
            tokens.close();
        });
    }
}

/// Returns the jobserver that cargo (or make) passes to this process.
#[allow(unsafe_code)]
fn inherited() -> Option<Client> {
    static CLIENT: std::sync::OnceLock<Option<Client>> = std::sync::OnceLock::new();
    CLIENT
        .get_or_init(|| {
            // SAFETY: cargo opened the file descriptors named in the variable for this purpose, and nothing
            // else takes ownership of them; this code runs once.
            unsafe { Client::from_env() }
        })
        .clone()
}

struct State {
    /// The tasks that can be started now.
    ready: BTreeSet<usize>,
    /// How many unfinished tasks each task waits for.
    missing: Vec<usize>,
    /// Which tasks are skipped because a task that they need failed.
    failed: Vec<bool>,
    /// The number of tasks that are neither finished nor skipped.
    open: usize,
}

struct Queue<'a> {
    state: Mutex<State>,
    changed: Condvar,
    wanted_by: Vec<Vec<usize>>,
    act: &'a (dyn Fn(usize, usize) -> bool + Sync),
}

impl Queue<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a task is ready (returns true) or none is left (returns false).
    fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.ready.is_empty() && state.open > 0 {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.open > 0
    }

    /// Runs one task if one is ready.
    fn run_one(&self, worker: usize) -> bool {
        let Some(task) = self.lock().ready.pop_first() else {
            return false;
        };
        let mut finish = FinishOnDrop {
            queue: self,
            task,
            good: false,
        };
        finish.good = (self.act)(task, worker);
        true
    }

    fn finish(&self, task: usize, good: bool) {
        let mut state = self.lock();
        let mut over = vec![(task, good)];
        while let Some((task, good)) = over.pop() {
            state.open -= 1;
            for next in &self.wanted_by[task] {
                state.missing[*next] -= 1;
                state.failed[*next] |= !good;
                if state.missing[*next] == 0 {
                    if state.failed[*next] {
                        over.push((*next, false));
                    } else {
                        state.ready.insert(*next);
                    }
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Marks a task as finished when dropped, even if the task panics: otherwise the other threads would wait for
/// it forever.
struct FinishOnDrop<'a, 'q> {
    queue: &'a Queue<'q>,
    task: usize,
    good: bool,
}

impl Drop for FinishOnDrop<'_, '_> {
    fn drop(&mut self) {
        self.queue.finish(self.task, self.good);
    }
}

/// The tokens that the other threads need before they may run a task.
struct Tokens {
    helper: Mutex<Option<HelperThread>>,
    given: Mutex<Receiver<std::io::Result<Acquired>>>,
    free: bool,
}

impl Tokens {
    fn new(jobserver: Option<&Client>) -> Tokens {
        let (sender, given) = channel();
        let helper = jobserver.and_then(|client| {
            client
                .clone()
                .into_helper_thread(move |token| {
                    // If nobody receives it any more, the token is given back.
                    let _ = sender.send(token);
                })
                .ok()
        });
        Tokens {
            helper: Mutex::new(helper),
            given: Mutex::new(given),
            free: jobserver.is_none(),
        }
    }

    /// Waits for a token; `None` if there will be no more. `Some(None)` is returned if there is no jobserver
    /// to count tokens.
    fn get(&self) -> Option<Option<Acquired>> {
        if self.free {
            return Some(None);
        }
        self.helper
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()?
            .request_token();
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.recv().ok()?.ok().map(Some)
    }

    fn close(&self) {
        let helper = self
            .helper
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(helper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    fn workers(count: usize, tokens: Option<usize>) -> Workers {
        Workers {
            count,
            jobserver: tokens.map(|n| Client::new(n).unwrap()),
        }
    }

    /// Runs the tasks and returns their order and the maximum number that ran at once.
    fn run(workers: &Workers, needs: &[Vec<usize>], bad: &[usize]) -> (Vec<usize>, usize) {
        let order = Mutex::new(Vec::new());
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        workers.run(needs, &|task, _| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(3));
            order.lock().unwrap().push(task);
            now.fetch_sub(1, Ordering::SeqCst);
            !bad.contains(&task)
        });
        (order.into_inner().unwrap(), most.into_inner())
    }

    #[test]
    fn each_task_comes_after_what_it_needs() {
        // 3 needs 1 and 2 (named twice), which need 0; 4 needs nothing.
        let needs = [vec![], vec![0], vec![0], vec![1, 2, 1], vec![]];
        assert_eq!(run(&workers(1, None), &needs, &[]).0, [0, 1, 2, 3, 4]);
        for tokens in [None, Some(0), Some(1), Some(3)] {
            let (order, most) = run(&workers(4, tokens), &needs, &[]);
            let at = |t| order.iter().position(|x| *x == t).unwrap();
            assert_eq!(order.len(), 5);
            assert!(at(0) < at(1) && at(0) < at(2) && at(1) < at(3) && at(2) < at(3));
            // One task may run without a token.
            assert!(
                most <= tokens.map_or(4, |t| t + 1),
                "{most} with {tokens:?}"
            );
        }
        assert!(run(&workers(4, None), &[], &[]).0.is_empty());
    }

    #[test]
    fn tokens_go_back() {
        let workers = workers(4, Some(2));
        let tasks = vec![Vec::new(); 40];
        for _ in 0..3 {
            let (order, most) = run(&workers, &tasks, &[]);
            assert_eq!(order.len(), 40);
            assert!((2..=3).contains(&most), "{most}");
        }
        let client = workers.jobserver.unwrap();
        assert_eq!(client.available().unwrap(), 2);
    }

    #[test]
    fn what_needs_a_failed_task_is_left_out() {
        let needs = [vec![], vec![0], vec![1], vec![], vec![3]];
        for count in [1, 3] {
            let (mut order, _) = run(&workers(count, None), &needs, &[0]);
            order.sort();
            assert_eq!(order, [0, 3, 4]);
        }
    }
}
