//! Which functions reach the host: printers whose languages hand it on from function to function need to know.

use crate::{Module, Stmt};

/// For each function: it prints or calls a native, itself or through others.
pub fn reach_host(module: &Module) -> Vec<bool> {
    let mut reach = vec![false; module.functions.len()];
    loop {
        let mut changed = false;
        for (at, function) in module.functions.iter().enumerate() {
            if !reach[at] && block_reaches(&function.body, &reach) {
                reach[at] = true;
                changed = true;
            }
        }
        if !changed {
            return reach;
        }
    }
}

fn block_reaches(block: &[Stmt], reach: &[bool]) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Print(_) | Stmt::Native { .. } => true,
        Stmt::Call { function, .. } => reach.get(function.index()).copied().unwrap_or(false),
        _ => statement.blocks().into_iter().any(|block| block_reaches(block, reach)),
    })
}
