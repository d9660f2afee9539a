//! Random mappings: any division of the instances must show the same.

use crate::rng::Rng;
use headrace_ir::{Mapping, Network};

/// Two to four partitions, some of which may be empty. What acts on the world outside stays together.
pub fn random(network: &Network, seed: u64) -> Mapping {
    let mut rng = Rng::new(seed ^ 0x7468_7265_6164_7321);
    let n = rng.range(2, 4) as usize;
    let mut of: Vec<usize> = network.instances.iter().map(|_| rng.below(n)).collect();
    let home = rng.below(n);
    for instance in Mapping::acting(network) {
        of[instance.index()] = home;
    }
    Mapping::numbered(n, of)
}
