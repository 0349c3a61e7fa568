//! The GPUs that this build of llama.cpp finds, and which of them hold the judge.
//!
//! A placement is decided before any weights are loaded, so that what the build cannot do is refused at once. Nothing here knows how a
//! reply is computed.

use super::model::{LoadError, backend};
use super::settings::SettingsError;
use crate::data::study::{EngineSection, GpuLayers, SplitMode};
use llama_cpp_2::LlamaBackendDeviceType;
use serde::{Deserialize, Serialize};

/// A GPU of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// As `NVIDIA H200`.
    pub description: String,
    /// As `CUDA`.
    pub backend: String,
    pub total_bytes: u64,
    pub free_bytes: u64,
    /// llama.cpp's own number, which counts processors too.
    pub(super) index: usize,
}

/// Every GPU, in llama.cpp's order: users name them by their place in this list.
///
/// # Errors
/// [`LoadError::Backend`].
pub fn gpus() -> Result<Vec<Gpu>, LoadError> {
    backend()?;
    let devices = llama_cpp_2::list_llama_ggml_backend_devices().into_iter();
    let is_gpu = |kind| matches!(kind, LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu);
    let gpus = devices.filter(|device| is_gpu(device.device_type)).map(|device| Gpu {
        description: device.description,
        backend: device.backend,
        total_bytes: device.memory_total as u64,
        free_bytes: device.memory_free as u64,
        index: device.index,
    });
    Ok(gpus.collect())
}

/// Where the judge is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The GPUs that hold layers; none: the processor computes everything.
    pub gpus: Vec<Gpu>,
    pub layers: GpuLayers,
    /// Whether the machine has GPUs that must be told to stay out.
    pub(super) others: bool,
}

impl Placement {
    /// The placement that `section` asks for on a machine with `found`.
    ///
    /// # Errors
    /// [`SettingsError`] for what is not there or does not go together; nothing falls back to the processor unsaid.
    pub(super) fn of(section: &EngineSection, found: &[Gpu]) -> Result<Self, SettingsError> {
        let spread = section.split_mode != SplitMode::None;
        let asked = if let Some(devices) = &section.devices {
            Some(format!("devices = {devices:?}"))
        } else if spread {
            Some(format!("split_mode = \"{}\"", section.split_mode))
        } else {
            None
        };
        let nothing = Self { gpus: Vec::new(), layers: GpuLayers::Count(0), others: !found.is_empty() };
        match (section.gpu_layers, asked) {
            (GpuLayers::Count(0), Some(asked)) => return Err(SettingsError::NoLayers { asked }),
            (GpuLayers::Count(0), None) => return Ok(nothing),
            (_, Some(asked)) if found.is_empty() => return Err(SettingsError::NoGpu { asked }),
            (GpuLayers::Count(n), None) if found.is_empty() => {
                return Err(SettingsError::NoGpu { asked: format!("gpu_layers = {n}") });
            }
            (GpuLayers::All, None) if found.is_empty() => return Ok(nothing),
            _ => {}
        }
        let gpus: Vec<Gpu> = match &section.devices {
            None => found[..if spread { found.len() } else { 1 }].to_vec(),
            Some(devices) => {
                let gpu = |&asked: &u32| {
                    found.get(asked as usize).cloned().ok_or(SettingsError::NoSuchGpu { asked, found: found.len() })
                };
                devices.iter().map(gpu).collect::<Result<_, _>>()?
            }
        };
        if let Some(twice) = gpus.iter().enumerate().find(|(i, gpu)| gpus[..*i].contains(gpu)).map(|(i, _)| i) {
            let asked = section.devices.as_ref().map_or(0, |devices| devices[twice]);
            return Err(SettingsError::Twice { asked });
        }
        if gpus.len() > 1 && !spread {
            return Err(SettingsError::OneGpu { named: gpus.len() });
        }
        Ok(Self { gpus, layers: section.gpu_layers, others: true })
    }

    /// What computes: the GPUs and the instruction set that llama.cpp was compiled for. Sums are rounded differently in wider
    /// registers and on each kind of GPU.
    pub(super) fn device_class(&self) -> String {
        let gpus: Vec<String> = self.gpus.iter().map(|gpu| format!("{} {}", gpu.backend, gpu.description)).collect();
        [gpus.as_slice(), &[cpu_class().to_string()]].concat().join(" + ")
    }
}

fn cpu_class() -> &'static str {
    if cfg!(target_feature = "avx512f") {
        "cpu x86-64 avx512"
    } else if cfg!(target_feature = "avx2") {
        "cpu x86-64 avx2"
    } else if cfg!(target_arch = "x86_64") {
        "cpu x86-64"
    } else {
        std::env::consts::ARCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(n_gpus: usize) -> Vec<Gpu> {
        let gpu = |i: usize| Gpu {
            description: format!("GPU {i}"),
            backend: "CUDA".into(),
            total_bytes: 80 << 30,
            free_bytes: 79 << 30,
            index: i,
        };
        (0..n_gpus).map(gpu).collect()
    }

    fn placed(n_gpus: usize, section: &EngineSection) -> Result<Vec<usize>, String> {
        let placement = Placement::of(section, &machine(n_gpus)).map_err(|error| error.to_string())?;
        Ok(placement.gpus.iter().map(|gpu| gpu.index).collect())
    }

    #[test]
    fn the_first_gpu_holds_the_judge_and_a_spread_one_takes_all() {
        let default = EngineSection::default();
        assert_eq!(placed(0, &default), Ok(vec![]));
        assert_eq!(placed(3, &default), Ok(vec![0]));
        let spread = EngineSection { split_mode: SplitMode::Layer, ..default.clone() };
        assert_eq!(placed(3, &spread), Ok(vec![0, 1, 2]));
        let named = EngineSection { split_mode: SplitMode::Row, devices: Some(vec![2, 0]), ..default.clone() };
        assert_eq!(placed(3, &named), Ok(vec![2, 0]));
        assert_eq!(placed(3, &EngineSection { gpu_layers: GpuLayers::Count(0), ..default }), Ok(vec![]));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let default = EngineSection::default();
        let refused = |n_gpus: usize, section: EngineSection, part: &str| {
            let error = placed(n_gpus, &section).expect_err("a refusal");
            assert!(error.contains(part), "{error}");
        };
        refused(0, EngineSection { gpu_layers: GpuLayers::Count(20), ..default.clone() }, "gpu_layers = 20 needs a GPU");
        refused(0, EngineSection { devices: Some(vec![0]), ..default.clone() }, "devices = [0] needs a GPU");
        refused(0, EngineSection { split_mode: SplitMode::Row, ..default.clone() }, "split_mode = \"row\" needs a GPU");
        refused(2, EngineSection { devices: Some(vec![2]), ..default.clone() }, "expected numbers below 2, got 2");
        refused(2, EngineSection { devices: Some(vec![0, 1]), ..default.clone() }, "split_mode = \"none\" takes one GPU, got 2");
        let twice = EngineSection { split_mode: SplitMode::Row, devices: Some(vec![1, 1]), ..default.clone() };
        refused(2, twice, "expected every GPU once, got 1 again");
        let contradiction = EngineSection { gpu_layers: GpuLayers::Count(0), devices: Some(vec![0]), ..default };
        refused(2, contradiction, "gpu_layers = 0 leaves no layer");
    }

    #[test]
    fn the_class_names_gpus_and_processor() {
        let class = |n_gpus: usize| Placement::of(&EngineSection::default(), &machine(n_gpus)).expect("placed").device_class();
        assert_eq!(class(0), cpu_class());
        assert_eq!(class(2), format!("CUDA GPU 0 + {}", cpu_class()));
    }
}
