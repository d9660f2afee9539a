//! Says where the OpenSSL that was built lies: a folder with `include` and `lib`.

fn main() {
    println!("{}", env!("OPENSSL4_PREFIX"));
}
