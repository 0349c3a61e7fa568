//! Leads calls of llama.cpp to `engine::generate::llama::cpu`, where the linker can.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(own_cpu_kernels)");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" && target("ARCH") == "x86_64" {
        println!("cargo:rustc-cfg=own_cpu_kernels");
        for function in
            ["ggml_compute_forward_mul_mat_tiled", "ggml_compute_forward_flash_attn_ext", "llama_model_default_params"]
        {
            println!("cargo:rustc-link-arg=-Wl,--wrap={function}");
        }
    }
}
