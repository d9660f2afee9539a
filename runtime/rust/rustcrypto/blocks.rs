//! Blocks that lie one behind the other, in bursts through a core or as the next of a message in a mode of operation.

#![allow(unused_imports, unused_macros, dead_code, reason = "each operation uses the part of it that its shape needs")]

use super::in_place::InPlace;
use super::shared::made;
use crate::message::Flows;
use crate::text::{Text, wipe};
use cipher::array::{Array, ArraySize};
use cipher::consts::U16;
use cipher::typenum::Unsigned;
use cipher::{
    Block, BlockCipherDecBackend, BlockCipherEncBackend, BlockModeDecBackend, BlockModeEncBackend, BlockSizeUser,
    InOut, InOutBuf, ParBlocks, ParBlocksSizeUser,
};
use core::cell::RefCell;
use core::marker::PhantomData;

/// Several blocks, each of which is a piece of the text.
struct Blocks<'i, 'o, N: ArraySize> {
    blocks: InOutBuf<'i, 'o, Array<u8, N>>,
    sent: usize,
    got: usize,
}

impl<N: ArraySize> Text for Blocks<'_, '_, N> {
    fn rest(&self) -> &[u8] {
        let block = self.blocks.get_in().get(self.sent / N::USIZE);
        block.map_or(&[], |block| &block[self.sent % N::USIZE..])
    }

    fn sent(&mut self, n_bytes: usize) {
        self.sent += n_bytes;
    }

    fn room(&mut self) -> &mut [u8] {
        let (at, from) = (self.got / N::USIZE, self.got % N::USIZE);
        // Input that has not gone in yet stays.
        let end = (self.sent - at * N::USIZE).min(N::USIZE);
        self.blocks.get_out().get_mut(at).map_or(&mut [], |block| &mut block[from..end])
    }

    fn got(&mut self, n_bytes: usize) {
        self.got += n_bytes;
    }

    fn clear(&mut self) {
        self.blocks.get_out().iter_mut().for_each(|block| wipe(block));
    }
}

/// A copy of a keyed core, at work for one call of a trait whose methods change nothing that they are called on. Copies
/// are cleared when they are dropped.
pub(crate) struct Burst<F, N> {
    core: RefCell<F>,
    block: PhantomData<N>,
}

impl<F: Flows + Clone, N: ArraySize> Burst<F, N> {
    pub(crate) fn of(core: &F) -> Self {
        Self { core: RefCell::new(core.clone()), block: PhantomData }
    }

    fn one(&self, block: InOut<'_, '_, Array<u8, N>>) {
        let mut text = InPlace::new(block.into_buf());
        made(self.core.borrow_mut().flow().blocks_text(&mut text, N::USIZE));
    }

    fn several(&self, blocks: InOutBuf<'_, '_, Array<u8, N>>) {
        let n_bytes = blocks.len() * N::USIZE;
        made(self.core.borrow_mut().flow().blocks_text(&mut Blocks { blocks, sent: 0, got: 0 }, n_bytes));
    }
}

impl<F, N: ArraySize> BlockSizeUser for Burst<F, N> {
    type BlockSize = N;
}

impl<F, N: ArraySize> ParBlocksSizeUser for Burst<F, N> {
    type ParBlocksSize = U16;
}

impl<F: Flows + Clone, N: ArraySize> BlockCipherEncBackend for Burst<F, N> {
    fn encrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.one(block);
    }

    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.several(blocks.into_buf());
    }

    fn encrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.several(blocks);
    }
}

impl<F: Flows + Clone, N: ArraySize> BlockCipherDecBackend for Burst<F, N> {
    fn decrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.one(block);
    }

    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.several(blocks.into_buf());
    }

    fn decrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.several(blocks);
    }
}

/// A message in a mode of operation.
pub(crate) struct Chain<'a, F, N> {
    mode: &'a mut F,
    block: PhantomData<N>,
}

impl<'a, F: Flows, N: ArraySize> Chain<'a, F, N> {
    pub(crate) fn of(mode: &'a mut F) -> Self {
        Self { mode, block: PhantomData }
    }

    fn next(&mut self, blocks: InOutBuf<'_, '_, Array<u8, N>>) {
        let n_bytes = blocks.len() * N::USIZE;
        let mut text = Blocks { blocks, sent: 0, got: 0 };
        made(self.mode.flow().update_text(&mut text, n_bytes));
        assert_eq!(text.got, n_bytes, "the mode keeps blocks back");
    }

    fn one(&mut self, block: InOut<'_, '_, Array<u8, N>>) {
        let mut text = InPlace::new(block.into_buf());
        made(self.mode.flow().update_text(&mut text, N::USIZE));
        assert!(text.is_whole(), "the mode keeps blocks back");
    }
}

impl<F, N: ArraySize> BlockSizeUser for Chain<'_, F, N> {
    type BlockSize = N;
}

impl<F, N: ArraySize> ParBlocksSizeUser for Chain<'_, F, N> {
    type ParBlocksSize = U16;
}

impl<F: Flows, N: ArraySize> BlockModeEncBackend for Chain<'_, F, N> {
    fn encrypt_block(&mut self, block: InOut<'_, '_, Block<Self>>) {
        self.one(block);
    }

    fn encrypt_par_blocks(&mut self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.next(blocks.into_buf());
    }

    fn encrypt_tail_blocks(&mut self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.next(blocks);
    }
}

impl<F: Flows, N: ArraySize> BlockModeDecBackend for Chain<'_, F, N> {
    fn decrypt_block(&mut self, block: InOut<'_, '_, Block<Self>>) {
        self.one(block);
    }

    fn decrypt_par_blocks(&mut self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.next(blocks.into_buf());
    }

    fn decrypt_tail_blocks(&mut self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.next(blocks);
    }
}

/// A type whose blocks have a size.
macro_rules! blocks_of {
    ($own:ident, $size:ident) => {
        impl cipher::BlockSizeUser for $own {
            type BlockSize = cipher::consts::$size;
        }
    };
}

/// A type that encrypts blocks by a core.
macro_rules! encrypts_blocks {
    ($own:ident.$core:ident) => {
        impl cipher::BlockCipherEncrypt for $own {
            fn encrypt_with_backend(&self, f: impl cipher::BlockCipherEncClosure<BlockSize = Self::BlockSize>) {
                f.call(&$crate::rustcrypto::blocks::Burst::of(&self.$core));
            }
        }
    };
}

/// A type that decrypts blocks by a core.
macro_rules! decrypts_blocks {
    ($own:ident.$core:ident) => {
        impl cipher::BlockCipherDecrypt for $own {
            fn decrypt_with_backend(&self, f: impl cipher::BlockCipherDecClosure<BlockSize = Self::BlockSize>) {
                f.call(&$crate::rustcrypto::blocks::Burst::of(&self.$core));
            }
        }
    };
}

/// A type that encrypts whole blocks in a mode of operation.
macro_rules! encrypts_by_mode {
    ($own:ident.$mode:ident) => {
        impl cipher::BlockModeEncrypt for $own {
            fn encrypt_with_backend(&mut self, f: impl cipher::BlockModeEncClosure<BlockSize = Self::BlockSize>) {
                f.call(&mut $crate::rustcrypto::blocks::Chain::of(&mut self.$mode));
            }
        }
    };
}

/// A type that decrypts whole blocks in a mode of operation.
macro_rules! decrypts_by_mode {
    ($own:ident.$mode:ident) => {
        impl cipher::BlockModeDecrypt for $own {
            fn decrypt_with_backend(&mut self, f: impl cipher::BlockModeDecClosure<BlockSize = Self::BlockSize>) {
                f.call(&mut $crate::rustcrypto::blocks::Chain::of(&mut self.$mode));
            }
        }
    };
}

pub(crate) use {blocks_of, decrypts_blocks, decrypts_by_mode, encrypts_blocks, encrypts_by_mode};
