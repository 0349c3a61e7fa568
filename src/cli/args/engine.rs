//! Settings of the judge's engine that override the manifest's.

use super::choose;
use crate::data::study::{EngineSection, GpuLayers, KvType, SplitMode};
use clap::Args as ClapArgs;

const HEADING: &str = "Engine of a judge on this machine (each overrides judge's key of that name)";

/// How a judge on this machine is held and computed. Each overrides the key of `[judge]` of the same name.
#[derive(Debug, Default, ClapArgs)]
pub struct EngineArgs {
    /// Layers on a GPU: `all` or a number
    #[arg(long, help_heading = HEADING, value_parser = parse_gpu_layers, value_name = "all|N")]
    pub gpu_layers: Option<GpuLayers>,
    /// How the judge is spread over GPUs
    #[arg(long, help_heading = HEADING, value_parser = parse_split_mode, value_name = "none|layer|row")]
    pub split_mode: Option<SplitMode>,
    /// GPUs by number, counted from 0, as 0,1
    #[arg(long, help_heading = HEADING, value_delimiter = ',', value_name = "N,..")]
    pub devices: Option<Vec<u32>>,
    /// How keys and values of the attention are kept
    #[arg(long, help_heading = HEADING, value_parser = parse_kv_type, value_name = "f32|f16|bf16|q8_0|q4_0")]
    pub kv_type: Option<KvType>,
    /// Whether attention is computed in one fused step
    #[arg(long, help_heading = HEADING, value_name = "true|false")]
    pub flash_attention: Option<bool>,
    /// Keep the experts of a mixture of experts off the GPUs
    #[arg(long, help_heading = HEADING, value_name = "true|false")]
    pub moe_on_cpu: Option<bool>,
    /// Tokens in the cache, of all games together
    #[arg(long, help_heading = HEADING, value_name = "TOKENS")]
    pub kv_cells: Option<u32>,
    /// Whether fast mode drafts copied passages
    #[arg(long, help_heading = HEADING, value_name = "true|false")]
    pub drafts: Option<bool>,
    /// Whether fast mode computes a beginning that prompts share once
    #[arg(long, help_heading = HEADING, value_name = "true|false")]
    pub sharing: Option<bool>,
}

impl EngineArgs {
    /// The manifest's settings with those given here in their place.
    pub fn over(&self, manifest: EngineSection) -> EngineSection {
        EngineSection {
            gpu_layers: self.gpu_layers.unwrap_or(manifest.gpu_layers),
            split_mode: self.split_mode.unwrap_or(manifest.split_mode),
            devices: self.devices.clone().or(manifest.devices),
            kv_type: self.kv_type.unwrap_or(manifest.kv_type),
            flash_attention: self.flash_attention.unwrap_or(manifest.flash_attention),
            moe_on_cpu: self.moe_on_cpu.unwrap_or(manifest.moe_on_cpu),
            kv_cells: self.kv_cells.or(manifest.kv_cells),
            drafts: self.drafts.unwrap_or(manifest.drafts),
            sharing: self.sharing.unwrap_or(manifest.sharing),
        }
    }
}

fn parse_gpu_layers(text: &str) -> Result<GpuLayers, String> {
    if text == GpuLayers::ALL {
        return Ok(GpuLayers::All);
    }
    text.parse().map(GpuLayers::Count).map_err(|_| format!("expected `{}` or a whole number, got `{text}`", GpuLayers::ALL))
}

fn parse_split_mode(text: &str) -> Result<SplitMode, String> {
    choose(text, &[SplitMode::None, SplitMode::Layer, SplitMode::Row].map(|mode| (mode.name(), mode)))
}

fn parse_kv_type(text: &str) -> Result<KvType, String> {
    choose(text, &[KvType::F32, KvType::F16, KvType::Bf16, KvType::Q8_0, KvType::Q4_0].map(|kind| (kind.name(), kind)))
}
