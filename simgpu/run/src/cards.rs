//! The simulated cards that a program can get.

use isobit_simgpu_amd::isa::Arch as Amd;
use isobit_simgpu_nvidia::arch::Arch as Nvidia;

/// A vendor of simulated cards.
#[derive(Debug)]
pub struct Vendor {
    /// The vendor's name.
    pub name: &'static str,
    /// The folder of its libraries.
    pub folder: &'static str,
    /// The library that programs open first.
    pub library: &'static str,
    /// The variable that selects its cards.
    pub variable: &'static str,
    /// The card without the variable.
    pub default: &'static str,
    cards: fn() -> Vec<&'static str>,
}

/// Every vendor.
pub static VENDORS: [Vendor; 2] = [
    Vendor {
        name: "NVIDIA",
        folder: "cuda",
        library: "libcuda.so.1",
        variable: "ISOBIT_SIM_CUDA",
        default: "sm_80",
        cards: || Nvidia::ALL.map(Nvidia::name).to_vec(),
    },
    Vendor {
        name: "AMD",
        folder: "rocm",
        library: "libamdhip64.so",
        variable: "ISOBIT_SIM_ROCM",
        default: "gfx90a",
        cards: || Amd::ALL.map(Amd::name).to_vec(),
    },
];

/// The cards of one vendor that a program gets.
#[derive(Debug)]
pub struct Selected {
    /// The vendor.
    pub vendor: &'static Vendor,
    /// The value of its variable; `None` if the user's environment decides.
    pub cards: Option<String>,
}

/// Selects the named cards, each `count` times. Without a name, every vendor has the cards of the
/// user's environment, or `count` cards of its default.
///
/// # Errors
/// Names the known cards if a name is not one of them.
pub fn select(names: &[String], count: Option<usize>) -> Result<Vec<Selected>, String> {
    let known = |vendor: &Vendor, name: &str| (vendor.cards)().contains(&name);
    if let Some(name) = names.iter().find(|name| !VENDORS.iter().any(|vendor| known(vendor, name))) {
        let all: Vec<_> = VENDORS.iter().flat_map(|vendor| (vendor.cards)()).collect();
        return Err(format!("there is no simulated GPU {name:?}; there are {}", all.join(", ")));
    }
    let selected = VENDORS.iter().filter_map(|vendor| {
        let mut own: Vec<&str> = names.iter().map(String::as_str).filter(|name| known(vendor, name)).collect();
        match (names.is_empty(), count) {
            (true, None) => return Some(Selected { vendor, cards: None }),
            (true, Some(_)) => own.push(vendor.default),
            (false, _) if own.is_empty() => return None,
            (false, _) => {}
        }
        let repeated = own.iter().flat_map(|name| std::iter::repeat_n(*name, count.unwrap_or(1)));
        Some(Selected { vendor, cards: Some(repeated.collect::<Vec<_>>().join(",")) })
    });
    Ok(selected.collect())
}

/// Returns a line for each card: its name and its vendor.
pub fn table() -> String {
    let line = |vendor: &Vendor, card: &str| {
        let default = if card == vendor.default { " (default)" } else { "" };
        format!("{card:<8} {}{default}\n", vendor.name)
    };
    VENDORS.iter().flat_map(|vendor| (vendor.cards)().into_iter().map(move |card| line(vendor, card))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards(names: &[&str], count: Option<usize>) -> Vec<(&'static str, Option<String>)> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        select(&names, count).unwrap().into_iter().map(|s| (s.vendor.variable, s.cards)).collect()
    }

    #[test]
    fn cards_are_selected_by_name_and_number() {
        let (cuda, rocm) = ("ISOBIT_SIM_CUDA", "ISOBIT_SIM_ROCM");
        assert_eq!(cards(&[], None), [(cuda, None), (rocm, None)]);
        assert_eq!(cards(&[], Some(2)), [(cuda, Some("sm_80,sm_80".into())), (rocm, Some("gfx90a,gfx90a".into()))]);
        assert_eq!(cards(&["gfx942"], None), [(rocm, Some("gfx942".into()))]);
        let mixed = cards(&["sm_90", "gfx1100", "sm_75"], Some(2));
        assert_eq!(mixed, [(cuda, Some("sm_90,sm_90,sm_75,sm_75".into())), (rocm, Some("gfx1100,gfx1100".into()))]);
        let unknown = select(&["sm_91".into()], None).unwrap_err();
        assert!(unknown.contains("\"sm_91\"") && unknown.contains("sm_90, gfx90a"), "{unknown}");
    }

    #[test]
    fn every_default_is_a_card() {
        assert!(VENDORS.iter().all(|vendor| (vendor.cards)().contains(&vendor.default)));
        assert_eq!(table().lines().filter(|line| line.ends_with(" (default)")).count(), 2);
    }
}
