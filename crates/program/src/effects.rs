//! What functions do through those that they call: printers need to know which reach the host, where a language hands it on
//! from function to function, and which may be under way several times, where what a function works in lies in the state.

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

/// For each function: it calls itself, through others or at once.
pub fn recursive(module: &Module) -> Vec<bool> {
    let calls: Vec<Vec<usize>> = module
        .functions
        .iter()
        .map(|function| {
            let mut found = Vec::new();
            calls(&function.body, &mut found);
            found.sort_unstable();
            found.dedup();
            found
        })
        .collect();
    let reaches_itself = |from: usize| {
        let mut seen = vec![false; calls.len()];
        let mut left = calls[from].clone();
        while let Some(next) = left.pop() {
            if next < seen.len() && !std::mem::replace(&mut seen[next], true) {
                left.extend(&calls[next]);
            }
        }
        seen[from]
    };
    (0..calls.len()).map(reaches_itself).collect()
}

fn calls(block: &[Stmt], found: &mut Vec<usize>) {
    for statement in block {
        if let Stmt::Call { function, .. } = statement {
            found.push(function.index());
        }
        statement.blocks().into_iter().for_each(|block| calls(block, found));
    }
}
