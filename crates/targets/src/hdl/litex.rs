//! Wrappers for LiteX: a Python class for each design, with the streams of the design as endpoints, that adds its sources to a platform.

use super::Stream;
use headrace_program::names::snake_case;
use std::fmt::Write as _;

/// An endpoint of the class.
struct Endpoint {
    /// Its attribute.
    attribute: String,
    /// What makes it.
    made: String,
}

/// The class for a design, before it is known which sources it has.
#[derive(Default)]
pub(super) struct Wrapper {
    endpoints: Vec<Endpoint>,
    /// What it imports of `litex.soc.interconnect`.
    imports: &'static str,
    /// What ports are connected to.
    connected: Vec<String>,
}

impl Wrapper {
    fn new(imports: &'static str, clock: [&str; 2]) -> Self {
        let connected = clock.iter().filter(|text| !text.is_empty()).map(|text| (*text).to_owned()).collect();
        Self { endpoints: Vec::new(), imports, connected }
    }

    fn endpoint(&mut self, attribute: String, made: String) {
        self.endpoints.push(Endpoint { attribute, made });
    }

    fn connect(&mut self, port: &str, to: &str) {
        self.connected.push(format!("{port}=self.{to}"));
    }

    /// Of a design with streams at its ports, which has a clock or none.
    pub(super) fn of_streams((inputs, outputs): &(Vec<Stream>, Vec<Stream>), is_clocked: bool) -> Self {
        let clock = if is_clocked { ["i_clk_i=ClockSignal()", "i_rst_ni=~ResetSignal()"] } else { ["", ""] };
        let mut wrapper = Self::new("stream", clock);
        for (streams, of, [forth, back]) in [(inputs, "sink", ["i", "o"]), (outputs, "source", ["o", "i"])] {
            for Stream { name, width, .. } in streams {
                let attribute = format!("{of}_{}", snake_case(name));
                for (signal, way) in [("data", forth), ("valid", forth), ("ready", back)] {
                    wrapper.connect(&format!("{way}_{name}_{signal}_{way}"), &format!("{attribute}.{signal}"));
                }
                wrapper.endpoint(attribute, format!("stream.Endpoint([(\"data\", {width})])"));
            }
        }
        wrapper
    }

    /// Of a core with the LWC hardware API, with words of so many bits.
    pub(super) fn of_lwc(word_bits: usize) -> Self {
        let mut wrapper = Self::new("stream", ["i_clk=ClockSignal()", "i_rst=ResetSignal()"]);
        for (name, of, bits) in [("pdi", "sink", word_bits), ("sdi", "sink", 32), ("do", "source", word_bits)] {
            let attribute = format!("{of}_{name}");
            let [forth, back] = if of == "sink" { ["i", "o"] } else { ["o", "i"] };
            for (signal, way) in [("data", forth), ("valid", forth), ("ready", back)] {
                wrapper.connect(&format!("{way}_{name}_{signal}"), &format!("{attribute}.{signal}"));
            }
            wrapper.endpoint(attribute, format!("stream.Endpoint([(\"data\", {bits})])"));
        }
        wrapper.connect("o_do_last", "source_do.last");
        wrapper
    }

    /// Of a core with AXI4-Stream and AXI4-Lite: names behind `s_axis` and `m_axis`, with the bits of their data, and the bits of an address.
    pub(super) fn of_buses(inputs: &[(String, u32)], outputs: &[(String, u32)], address_bits: u32) -> Self {
        let mut wrapper = Self::new("axi", ["i_aclk=ClockSignal()", "i_aresetn=~ResetSignal()"]);
        let directions = [(inputs, "s_axis", "sink", ["i", "o"]), (outputs, "m_axis", "source", ["o", "i"])];
        for (streams, bus, of, [forth, back]) in directions {
            for (name, bits) in streams {
                let attribute = format!("{of}{name}");
                let last = (of == "source").then_some(("last", forth));
                for (signal, way) in [("data", forth), ("valid", forth), ("ready", back)].into_iter().chain(last) {
                    wrapper.connect(&format!("{way}_{bus}{name}_t{signal}"), &format!("{attribute}.{signal}"));
                }
                wrapper.endpoint(attribute, format!("axi.AXIStreamInterface(data_width={bits})"));
            }
        }
        let made = format!("axi.AXILiteInterface(data_width=32, address_width={address_bits})");
        wrapper.endpoint("bus".to_owned(), made);
        for (channel, signals) in [
            ("aw", ["addr"].as_slice()),
            ("w", &["data", "strb"]),
            ("b", &["resp"]),
            ("ar", &["addr"]),
            ("r", &["data", "resp"]),
        ] {
            let is_answer = matches!(channel, "b" | "r");
            let [forth, back] = if is_answer { ["o", "i"] } else { ["i", "o"] };
            let all = signals.iter().map(|signal| (*signal, forth)).chain([("valid", forth), ("ready", back)]);
            for (signal, way) in all {
                wrapper.connect(&format!("{way}_s_axil_{channel}{signal}"), &format!("bus.{channel}.{signal}"));
            }
        }
        wrapper
    }

    /// The file: what made it, the top module, what that is as a sentence, and the sources.
    pub(super) fn file(&self, head: &str, top: &str, about: &str, sources: &[String]) -> String {
        let mut class = String::new();
        top.split('_').for_each(|word| {
            let mut letters = word.chars();
            class.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            class.push_str(letters.as_str());
        });
        let sources: String = sources.iter().map(|source| format!("    {source:?},\n")).collect();
        let mut endpoints = String::new();
        for Endpoint { attribute, made } in &self.endpoints {
            let _ = writeln!(endpoints, "        self.{attribute} = {made}");
        }
        let connected: String = self.connected.iter().map(|one| format!("            {one},\n")).collect();
        TEXT.replace("@imports@", self.imports)
            .replace("@class@", &class)
            .replace("@module@", top)
            .replace("        @endpoints@\n", &endpoints)
            .replace("            @connected@\n", &connected)
            .replace("@source_files@", &sources)
            .replace("@about@", &about.replace('\\', "\\\\").replace('"', "'"))
            .replace("@head@", head)
    }
}

/// A file with gaps.
const TEXT: &str = include_str!("../../../../runtime/hdl/litex.py");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_connected_to_endpoints() {
        let stream = |name: &str, width: u32| Stream { name: name.to_owned(), width };
        let wrapper = Wrapper::of_streams(&(vec![stream("Key", 8)], vec![stream("OutputSize", 32)]), true);
        let text = wrapper.file("Made.", "aes_core", "An \"actor\".", &["rtl/aes_core.v".to_owned()]);
        for line in [
            "class AesCore(LiteXModule):",
            "    \"rtl/aes_core.v\",",
            "        self.sink_key = stream.Endpoint([(\"data\", 8)])",
            "            i_rst_ni=~ResetSignal(),",
            "            o_Key_ready_o=self.sink_key.ready,",
            "            i_OutputSize_ready_i=self.source_output_size.ready,",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
