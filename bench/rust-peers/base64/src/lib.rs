//! Adapter of base64-turbo.
