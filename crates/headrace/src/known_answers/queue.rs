//! Work for several hands that would wait for each other if they did the same at a time.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Pieces of work in their order, but for those of which somebody is making what they need: that is there in a moment, and
/// others can be done meanwhile.
pub(super) struct Queue<'w, W, S> {
    work: &'w [W],
    /// What a piece of work needs, and makes where it is the first.
    needs: fn(&W) -> Vec<S>,
    /// How many pieces of work others may go ahead of.
    reach: usize,
    left: Mutex<Left<S>>,
}

/// What is not done yet.
struct Left<S> {
    /// The numbers of pieces that nobody has begun.
    waiting: VecDeque<usize>,
    /// What is being made.
    under_way: Vec<S>,
}

impl<'w, W, S: PartialEq> Queue<'w, W, S> {
    pub(super) fn of(work: &'w [W], reach: usize, needs: fn(&W) -> Vec<S>) -> Self {
        let left = Left { waiting: (0..work.len()).collect(), under_way: Vec::new() };
        Self { work, needs, reach, left: Mutex::new(left) }
    }

    /// A piece of work; what it needs is under way until it is [`Queue::made`].
    pub(super) fn next(&self) -> Option<&'w W> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |one: &usize| (self.needs)(&self.work[*one]).iter().all(|need| !left.under_way.contains(need));
        let place = left.waiting.iter().take(self.reach).position(is_free).unwrap_or(0);
        let one = &self.work[left.waiting.remove(place)?];
        left.under_way.extend((self.needs)(one));
        Some(one)
    }

    /// What a piece of work needs is there.
    pub(super) fn made(&self, one: &W) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        for need in (self.needs)(one) {
            if let Some(place) = left.under_way.iter().position(|other| *other == need) {
                left.under_way.swap_remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_left_to_others() {
        let work = [('c', 1), ('d', 1), ('c', 2), ('d', 2)];
        let queue = Queue::of(&work, 3, |(_, subject)| vec![*subject]);
        assert_eq!(queue.next(), Some(&('c', 1)));
        assert_eq!(queue.next(), Some(&('c', 2)));
        // Nothing else is there: one waits.
        assert_eq!(queue.next(), Some(&('d', 1)));
        queue.made(&('c', 2));
        assert_eq!(queue.next(), Some(&('d', 2)));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn nothing_goes_far_ahead() {
        let work = [1, 1, 1, 2];
        let queue = Queue::of(&work, 2, |subject| vec![*subject]);
        let order: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(order, [&1, &1, &2, &1]);
    }
}
