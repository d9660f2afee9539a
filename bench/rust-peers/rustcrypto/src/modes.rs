//! Block ciphers in their modes, each with the crate's own way to many blocks at once.

use crate::Operation;
use cipher::array::Array;
use cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser, InOutBuf, InnerIvInit,
    KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use ctr::CtrFlavor;

/// Opens a cipher in a mode.
pub fn open(set: &str, mode: &str, key: &[u8], iv: &[u8]) -> Option<Operation> {
    use ctr::flavors::{Ctr64BE, Ctr128BE};
    match set {
        "aes128" => with::<aes::Aes128, Ctr128BE>(mode, key, iv),
        "aes192" => with::<aes::Aes192, Ctr128BE>(mode, key, iv),
        "aes256" => with::<aes::Aes256, Ctr128BE>(mode, key, iv),
        "des" => with::<des::Des, Ctr64BE>(mode, key, iv),
        "tdes" => with::<des::TdesEde3, Ctr64BE>(mode, key, iv),
        "blowfish" => with::<blowfish::Blowfish, Ctr64BE>(mode, key, iv),
        "rc5" => with::<rc5::RC5<u32, cipher::consts::U12, cipher::consts::U16>, Ctr64BE>(mode, key, iv),
        "twofish128" => with::<twofish::Twofish, Ctr128BE>(mode, key, iv),
        "serpent128" => with::<serpent::Serpent, Ctr128BE>(mode, key, iv),
        _ => None,
    }
}

/// Whole blocks of input and output.
fn blocks<'io, C: BlockSizeUser>(
    input: &'io [u8],
    output: &'io mut [u8],
) -> Option<InOutBuf<'io, 'io, Array<u8, C::BlockSize>>> {
    let bytes = InOutBuf::new(input, output.get_mut(..input.len())?).ok()?;
    let (blocks, rest) = bytes.into_chunks();
    rest.is_empty().then_some(blocks)
}

fn with<C, F>(mode: &str, key: &[u8], iv: &[u8]) -> Option<Operation>
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + Clone + 'static,
    C::BlockSize: digest::block_buffer::BlockSizes,
    F: CtrFlavor<C::BlockSize> + 'static,
{
    let cipher = C::new_from_slice(key).ok()?;
    let iv = Array::<u8, C::BlockSize>::try_from(iv).ok()?;
    // Each mode borrows the cipher, so that no run copies a key schedule.
    let cipher: &'static C = Box::leak(Box::new(cipher));
    Some(match mode {
        "ecb-encrypt" => Box::new(move |input, output| {
            cipher.encrypt_blocks_inout(blocks::<C>(input, output)?);
            Some(input.len())
        }),
        "ecb-decrypt" => Box::new(move |input, output| {
            cipher.decrypt_blocks_inout(blocks::<C>(input, output)?);
            Some(input.len())
        }),
        "cbc-encrypt" => Box::new(move |input, output| {
            cbc::Encryptor::inner_iv_init(cipher, &iv).encrypt_blocks_inout(blocks::<C>(input, output)?);
            Some(input.len())
        }),
        "cbc-decrypt" => Box::new(move |input, output| {
            cbc::Decryptor::inner_iv_init(cipher, &iv).decrypt_blocks_inout(blocks::<C>(input, output)?);
            Some(input.len())
        }),
        "cfb-encrypt" => Box::new(move |input, output| {
            cfb_mode::Encryptor::inner_iv_init(cipher, &iv).encrypt_blocks_inout(blocks::<C>(input, output)?);
            Some(input.len())
        }),
        "cfb-decrypt" => Box::new(move |input, output| {
            cfb_mode::Decryptor::inner_iv_init(cipher, &iv).decrypt_blocks_inout(blocks::<C>(input, output)?);
            Some(input.len())
        }),
        "ofb" => Box::new(move |input, output| {
            let mut mode = StreamCipherCoreWrapper::from_core(ofb::OfbCore::inner_iv_init(cipher, &iv));
            mode.apply_keystream_b2b(input, &mut output[..input.len()]);
            Some(input.len())
        }),
        "ctr" => Box::new(move |input, output| {
            let mut mode = StreamCipherCoreWrapper::from_core(ctr::CtrCore::<_, F>::inner_iv_init(cipher, &iv));
            mode.apply_keystream_b2b(input, &mut output[..input.len()]);
            Some(input.len())
        }),
        _ => return None,
    })
}
