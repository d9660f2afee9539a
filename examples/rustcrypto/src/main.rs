//! Shows what becomes of letters. The ciphers are chosen here, and nowhere else.

mod letters;

use std::error::Error;

use aes128::Aes128;
use aes128_gcm::Aes128Gcm;
use chacha20::Chacha20;
use hmac::SimpleHmacReset;
use hmac_sha256::HmacSha256;
use sha256::Sha256;

fn main() -> Result<(), Box<dyn Error>> {
    println!("fingerprint {}", letters::fingerprint::<Sha256>(b"abc"));
    for seal in letters::seals::<HmacSha256>(b"Jefe", &[b"what do ya want for nothing?", b""])? {
        println!("seal        {seal}");
    }
    // The same code, which another crate makes of the hash.
    for seal in letters::seals::<SimpleHmacReset<Sha256>>(b"Jefe", &[b"what do ya want for nothing?", b""])? {
        println!("the same    {seal}");
    }
    let counting: Vec<u8> = (0..16).collect();
    let line: Vec<u8> = (0..16).map(|i| i * 0x11).collect();
    let (scrambled, is_read) = letters::scramble::<Aes128>(&counting, &line)?;
    println!("scrambled   {scrambled}, read again: {is_read}");
    println!("noise       {}", letters::noise::<Chacha20>(&[0; 32], &[0; 12], 32)?);
    let envelope = letters::enclose::<Aes128Gcm>(&[0; 16], &[0; 12], b"", &[0; 16])?;
    println!("envelope    {}", letters::look(&envelope));
    let opened = letters::open::<Aes128Gcm>(&[0; 16], &[0; 12], b"", &envelope)?;
    let forged = letters::open::<Aes128Gcm>(&[0; 16], &[0; 12], b"another address", &envelope);
    println!("opened      {}, with another address: {}", opened == [0; 16], forged.is_ok());
    Ok(())
}
