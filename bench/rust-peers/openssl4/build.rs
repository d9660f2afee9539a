//! Builds OpenSSL and says where it lies.

fn main() {
    let artifacts = openssl_src::Build::new().build();
    println!("cargo::rustc-env=OPENSSL4_PREFIX={}", artifacts.include_dir().join("..").display());
    println!("cargo::rerun-if-changed=build.rs");
}
