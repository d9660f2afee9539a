library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

-- What expressions of modules are made of, where numeric_std has nothing that is defined for every value.
package headrace_pkg is
  function to_bit_of(condition : boolean) return std_logic;
  function vec(value : std_logic) return unsigned;
  function vec(value : unsigned) return unsigned;
  function fill(value : std_logic; width : positive) return unsigned;
  function choose(condition : std_logic; yes, no : std_logic) return std_logic;
  function choose(condition : std_logic; yes, no : unsigned) return unsigned;
  function product(a, b : unsigned) return unsigned;
  function quotient(a, b : unsigned) return unsigned;
  function remainder(a, b : unsigned) return unsigned;
  function quotient_signed(a, b : unsigned) return unsigned;
  function remainder_signed(a, b : unsigned) return unsigned;
  function shifted_left(value, count : unsigned) return unsigned;
  function shifted_right(value, count : unsigned) return unsigned;
  function shifted_right_signed(value, count : unsigned) return unsigned;
end package headrace_pkg;

package body headrace_pkg is
  function to_bit_of(condition : boolean) return std_logic is
  begin
    if condition then
      return '1';
    end if;
    return '0';
  end function;

  function vec(value : std_logic) return unsigned is
    variable whole : unsigned(0 downto 0);
  begin
    whole(0) := value;
    return whole;
  end function;

  function vec(value : unsigned) return unsigned is
  begin
    return value;
  end function;

  function fill(value : std_logic; width : positive) return unsigned is
    constant whole : unsigned(width - 1 downto 0) := (others => value);
  begin
    return whole;
  end function;

  function choose(condition : std_logic; yes, no : std_logic) return std_logic is
  begin
    if condition = '1' then
      return yes;
    end if;
    return no;
  end function;

  function choose(condition : std_logic; yes, no : unsigned) return unsigned is
  begin
    if condition = '1' then
      return yes;
    end if;
    return no;
  end function;

  function product(a, b : unsigned) return unsigned is
  begin
    return resize(a * b, a'length);
  end function;

  function quotient(a, b : unsigned) return unsigned is
  begin
    if b = 0 then
      return to_unsigned(0, a'length);
    end if;
    return a / b;
  end function;

  function remainder(a, b : unsigned) return unsigned is
  begin
    if b = 0 then
      return to_unsigned(0, a'length);
    end if;
    return a rem b;
  end function;

  function quotient_signed(a, b : unsigned) return unsigned is
  begin
    if b = 0 then
      return to_unsigned(0, a'length);
    end if;
    return unsigned(signed(a) / signed(b));
  end function;

  function remainder_signed(a, b : unsigned) return unsigned is
  begin
    if b = 0 then
      return to_unsigned(0, a'length);
    end if;
    return unsigned(signed(a) rem signed(b));
  end function;

  -- A count, or the width where it is more.
  function limited(count : unsigned; width : natural) return natural is
  begin
    if count'length < 31 then
      if to_integer(count) < width then
        return to_integer(count);
      end if;
      return width;
    end if;
    if count < to_unsigned(width, count'length) then
      return to_integer(resize(count, 31));
    end if;
    return width;
  end function;

  function shifted_left(value, count : unsigned) return unsigned is
  begin
    return shift_left(value, limited(count, value'length));
  end function;

  function shifted_right(value, count : unsigned) return unsigned is
  begin
    return shift_right(value, limited(count, value'length));
  end function;

  function shifted_right_signed(value, count : unsigned) return unsigned is
  begin
    return unsigned(shift_right(signed(value), limited(count, value'length)));
  end function;
end package body headrace_pkg;
