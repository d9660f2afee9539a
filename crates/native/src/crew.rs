//! Threads that run the partitions of a network, and how they wait for each other.
//!
//! How a run ends is settled in the runtime's header; here are only threads. They live as long as the engine: between
//! runs they wait for the next one. The thread that starts a run takes part itself, with the home partition: what
//! prints or calls natives runs there, since the world outside belongs to that thread, and so does whoever feeds.

use crate::context::{Partitions, Waiting};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};

/// How often a thread looks for work before it sleeps, where each thread has a core: some tens of microseconds, which is
/// what it takes to sleep and be woken.
const SPINS: u32 = 2000;

/// What the threads of a crew share.
struct Shared {
    partitions: Partitions,
    context: AtomicPtr<c_void>,
    /// Number of the run; changes when one begins.
    run: AtomicU64,
    /// Threads that have not finished the run.
    busy: AtomicU32,
    quit: AtomicBool,
    spins: u32,
}

/// Handles of the threads by partition, for those who wake them. Set before a run, read by all while it lasts.
struct Sleepers {
    threads: Vec<Thread>,
}

/// Moves tokens across the boundary; returns whether any moved.
pub(crate) type Feeder<'a> = &'a mut dyn FnMut() -> bool;

/// One thread for each partition but the home.
pub(crate) struct Crew {
    shared: Arc<Shared>,
    sleepers: Box<Sleepers>,
    waiting: Box<Waiting>,
    workers: Vec<JoinHandle<()>>,
}

unsafe extern "C" fn wait(_user: *mut c_void, _partition: u32) {
    // What was unparked before returns at once; whoever waits looks again at what it waits for.
    std::thread::park();
}

unsafe extern "C" fn wake(user: *mut c_void, partition: u32) {
    // SAFETY: the pointer that `Crew::new` put there; nothing changes the handles while a run lasts.
    let sleepers = unsafe { &*user.cast::<Sleepers>() };
    if let Some(thread) = sleepers.threads.get(partition as usize) {
        thread.unpark();
    }
}

impl Crew {
    /// Starts the threads.
    pub(crate) fn new(partitions: Partitions) -> std::io::Result<Crew> {
        let n = partitions.n_partitions;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spins = if cores >= n as usize { SPINS } else { 0 };
        let shared = Arc::new(Shared {
            partitions,
            context: AtomicPtr::new(std::ptr::null_mut()),
            run: AtomicU64::new(0),
            busy: AtomicU32::new(0),
            quit: AtomicBool::new(false),
            spins,
        });
        let caller = std::thread::current();
        let mut threads = Vec::new();
        let mut workers = Vec::new();
        for partition in 0..n {
            if partition == partitions.home {
                threads.push(caller.clone());
                continue;
            }
            let own = Arc::clone(&shared);
            let boss = caller.clone();
            let worker = std::thread::Builder::new()
                .name(format!("partition {partition}"))
                .spawn(move || serve(&own, partition, &boss));
            match worker {
                Ok(worker) => {
                    threads.push(worker.thread().clone());
                    workers.push(worker);
                }
                Err(error) => {
                    dismiss(&shared, workers);
                    return Err(error);
                }
            }
        }
        let mut sleepers = Box::new(Sleepers { threads });
        let user: *mut Sleepers = &mut *sleepers;
        let waiting = Box::new(Waiting { user: user.cast(), wait, wake, spins });
        Ok(Crew { shared, sleepers, waiting, workers })
    }

    /// True when this thread is the one that started the crew and waits for it.
    pub(crate) fn is_here(&self) -> bool {
        let home = self.sleepers.threads.get(self.shared.partitions.home as usize);
        home.is_some_and(|thread| thread.id() == std::thread::current().id())
    }

    /// One run, to its end. Gives the status.
    ///
    /// # Safety
    ///
    /// The context is initialised, is one of the network whose partitions were given to [`Crew::new`], and is used by nobody
    /// else until this returns, except that the feeder writes to inputs and reads from outputs. The crew is here.
    pub(crate) unsafe fn run(&mut self, context: *mut c_void, max_firings: u64, feeder: Option<Feeder<'_>>) -> u32 {
        let shared = &self.shared;
        let partitions = &shared.partitions;
        // SAFETY: by the contract of this function; what waits lives as long as the crew.
        unsafe { (partitions.begin)(context, &*self.waiting, max_firings, feeder.is_some()) };
        shared.context.store(context, Ordering::Relaxed);
        shared.busy.store(self.workers.len() as u32, Ordering::Relaxed);
        shared.run.fetch_add(1, Ordering::Release);
        for worker in &self.workers {
            worker.thread().unpark();
        }
        match feeder {
            Some(mut feeder) => {
                let user: *mut Feeder<'_> = &mut feeder;
                // SAFETY: as below; `move_tokens` gets back what it takes for it, while it lives.
                unsafe { (partitions.feed)(context, move_tokens, user.cast()) };
            }
            // SAFETY: every partition has one thread, and this one has the home.
            None => unsafe { (partitions.work)(context, partitions.home) },
        }
        until(shared.spins, || shared.busy.load(Ordering::Acquire) == 0);
        // SAFETY: all threads have finished with the context.
        unsafe { (partitions.end)(context) }
    }
}

unsafe extern "C" fn move_tokens(user: *mut c_void) -> bool {
    // SAFETY: the pointer that `Crew::run` handed over, to something that lives until it returns.
    let feeder = unsafe { &mut *user.cast::<Feeder<'_>>() };
    feeder()
}

impl Drop for Crew {
    fn drop(&mut self) {
        dismiss(&self.shared, std::mem::take(&mut self.workers));
    }
}

fn dismiss(shared: &Shared, workers: Vec<JoinHandle<()>>) {
    shared.quit.store(true, Ordering::Release);
    for worker in workers {
        worker.thread().unpark();
        // A worker runs generated code only; there is nothing in it that unwinds.
        let _ = worker.join();
    }
}

/// Waits until something holds: a moment awake, then asleep. Whoever makes it hold wakes this thread.
fn until(spins: u32, holds: impl Fn() -> bool) {
    for _ in 0..spins {
        if holds() {
            return;
        }
        std::hint::spin_loop();
    }
    while !holds() {
        std::thread::park();
    }
}

fn serve(shared: &Shared, partition: u32, boss: &Thread) {
    let mut seen = 0;
    loop {
        until(shared.spins, || shared.run.load(Ordering::Acquire) != seen || shared.quit.load(Ordering::Acquire));
        if shared.quit.load(Ordering::Acquire) {
            return;
        }
        seen = shared.run.load(Ordering::Acquire);
        let context = shared.context.load(Ordering::Relaxed);
        // SAFETY: `Crew::run` waits for this thread before anybody else touches the context.
        unsafe { (shared.partitions.work)(context, partition) };
        if shared.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            boss.unpark();
        }
    }
}
