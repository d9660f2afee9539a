-- The ports of the LWC hardware API, around CORE.
-- Words are big-endian: the first byte of a string is in the top bits. rst is synchronous, active high.

library ieee;
use ieee.std_logic_1164.all;

entity LWC is
  port (
    clk : in std_logic;
    rst : in std_logic;
    pdi_data : in std_logic_vector(31 downto 0);
    pdi_valid : in std_logic;
    pdi_ready : out std_logic;
    sdi_data : in std_logic_vector(31 downto 0);
    sdi_valid : in std_logic;
    sdi_ready : out std_logic;
    do_data : out std_logic_vector(31 downto 0);
    do_valid : out std_logic;
    do_ready : in std_logic;
    do_last : out std_logic
  );
end entity LWC;

architecture rtl of LWC is
  signal rst_n : std_logic;
  signal word : std_logic_vector(32 downto 0);
begin
  rst_n <= not rst;
  do_data <= word(31 downto 0);
  do_last <= word(32);
SDI_UNUSED
  core : entity work.CORE
    port map (
      clk_i => clk,
      rst_ni => rst_n,
      Pdi_data_i => pdi_data,
      Pdi_valid_i => pdi_valid,
      Pdi_ready_o => pdi_ready,
SDI_PORTS
      Do_data_o => word,
      Do_valid_o => do_valid,
      Do_ready_i => do_ready
    );
end architecture rtl;
