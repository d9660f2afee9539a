-- Plays pdi.txt and sdi.txt, holds what comes out to do.txt, and do_last to its status words.
-- SEED chooses when ports wait, STALL, a percentage, how often.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.textio.all;

entity LWC_tb is
  generic (
    SEED : natural := 1;
    STALL : natural := 30
  );
end entity LWC_tb;

architecture bench of LWC_tb is
  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal pdi_data, sdi_data, do_data : std_logic_vector(31 downto 0) := (others => '0');
  signal pdi_valid, sdi_valid, do_ready : std_logic := '0';
  signal pdi_ready, sdi_ready, do_valid, do_last : std_logic;
begin
  clk <= not clk after 5 ns;

  dut : entity work.LWC
    port map (
      clk => clk, rst => rst,
      pdi_data => pdi_data, pdi_valid => pdi_valid, pdi_ready => pdi_ready,
      sdi_data => sdi_data, sdi_valid => sdi_valid, sdi_ready => sdi_ready,
      do_data => do_data, do_valid => do_valid, do_ready => do_ready, do_last => do_last
    );

  main : process
    file pdi_file : text open read_mode is "kat/pdi.txt";
    file sdi_file : text open read_mode is "kat/sdi.txt";
    file do_file : text open read_mode is "kat/do.txt";
    variable random : unsigned(31 downto 0);
    variable go, wrong : boolean := false;
    variable pdi_there, sdi_there, expected_there, is_status : boolean;
    variable pdi_word, sdi_word, expected : std_logic_vector(31 downto 0);
    variable passed, failed, idle, resting : natural := 0;
    variable row : line;

    -- Whether a port moves: a xorshift generator.
    procedure draw(variable moves : out boolean) is
    begin
      random := random xor shift_left(random, 13);
      random := random xor shift_right(random, 17);
      random := random xor shift_left(random, 5);
      moves := to_integer(random(15 downto 0)) mod 100 >= STALL;
    end procedure;

    -- The next word of a file, if there is one, and whether it is a status.
    procedure next_word(file from : text; variable there : out boolean; variable word : out std_logic_vector(31 downto 0);
                        variable status : out boolean) is
      variable text_row : line;
      variable name : string(1 to 6);
      variable value : std_logic_vector(31 downto 0);
    begin
      there := false;
      while not endfile(from) loop
        readline(from, text_row);
        if text_row'length > 6 and text_row(text_row'left) /= '#' then
          read(text_row, name);
          hread(text_row, value);
          word := value;
          status := name(1 to 3) = "STT";
          there := true;
          exit;
        end if;
      end loop;
    end procedure;

    variable unused : boolean;
  begin
    random := to_unsigned(SEED, 32) xor x"9e3779b9";
    next_word(pdi_file, pdi_there, pdi_word, unused);
    next_word(sdi_file, sdi_there, sdi_word, unused);
    next_word(do_file, expected_there, expected, is_status);
    for cycle in 1 to 4 loop
      wait until rising_edge(clk);
    end loop;
    rst <= '0';
    loop
      wait until rising_edge(clk);
      idle := idle + 1;
      if pdi_valid = '1' and pdi_ready = '1' then
        idle := 0;
        next_word(pdi_file, pdi_there, pdi_word, unused);
      end if;
      if pdi_valid = '0' or pdi_ready = '1' then
        draw(go);
        pdi_valid <= '1' when go and pdi_there else '0';
        pdi_data <= pdi_word;
      end if;
      if sdi_valid = '1' and sdi_ready = '1' then
        idle := 0;
        next_word(sdi_file, sdi_there, sdi_word, unused);
      end if;
      if sdi_valid = '0' or sdi_ready = '1' then
        draw(go);
        sdi_valid <= '1' when go and sdi_there else '0';
        sdi_data <= sdi_word;
      end if;
      if do_valid = '1' and do_ready = '1' then
        idle := 0;
        if not expected_there then
          report "a word more than there should be: " & to_hstring(do_data) severity note;
          failed := failed + 1;
        else
          if do_data /= expected or (do_last = '1') /= is_status then
            if not wrong then
              report "message " & integer'image(passed + failed + 1) & ": a word is " & to_hstring(do_data) & " and not "
                & to_hstring(expected) severity note;
            end if;
            wrong := true;
          end if;
          if is_status then
            if wrong then
              failed := failed + 1;
            else
              passed := passed + 1;
            end if;
            wrong := false;
          end if;
          next_word(do_file, expected_there, expected, is_status);
        end if;
      end if;
      draw(go);
      do_ready <= '1' when go else '0';
      if not expected_there then
        resting := resting + 1;
      end if;
      -- Nothing may come behind the last word; what comes to rest before it is stuck.
      exit when resting > 1000 or idle > 100000;
    end loop;
    if expected_there then
      report "message " & integer'image(passed + failed + 1) & ": words are missing" severity note;
      failed := failed + 1;
    end if;
    write(row, string'("operation lwc: ") & integer'image(passed) & " passed, " & integer'image(failed) & " failed");
    writeline(output, row);
    std.env.finish;
  end process;
end architecture bench;
