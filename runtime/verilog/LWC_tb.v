// Plays pdi.txt and sdi.txt, holds what comes out to do.txt, and do_last to its status words.
// +seed=N chooses when ports wait, +stall=PERCENT how often; +cycles=1 says how long each message took, from its instruction to its
// status, for which each waits for the one before.

module LWC_tb;
  localparam MOST = WORDS;
  localparam EOF = -1;
  // Bits of a word of public data; instructions and headers are in its upper 32 bits.
  localparam W = WORD_BITS_OF_CORE;

  reg clk = 0;
  reg rst = 1;
  // With an instruction that begins a message marked in front.
  reg [W:0] pdi [0:MOST-1];
  reg [31:0] sdi [0:MOST-1];
  // With a status word marked in front.
  reg [W:0] expected [0:MOST-1];
  integer pdi_end = 0, sdi_end = 0, expected_end = 0;
  integer pdi_at = 0, sdi_at = 0, expected_at = 0;

  reg [W-1:0] pdi_data = 0;
  reg [31:0] sdi_data = 0;
  reg pdi_valid = 0, sdi_valid = 0, do_ready = 0;
  wire pdi_ready, sdi_ready, do_valid, do_last;
  wire [W-1:0] do_data;

  integer stall, seed, told, file, char;
  reg [31:0] random;
  reg go;
  reg there, status, instruction, waits;
  reg [W-1:0] word;
  integer passed = 0, failed = 0, cycles = 0, begun = 0, entered = 0, idle = 0, resting = 0;
  reg wrong = 0;

  LWC dut (
    .clk(clk), .rst(rst),
    .pdi_data(pdi_data), .pdi_valid(pdi_valid), .pdi_ready(pdi_ready),
    .sdi_data(sdi_data), .sdi_valid(sdi_valid), .sdi_ready(sdi_ready),
    .do_data(do_data), .do_valid(do_valid), .do_ready(do_ready), .do_last(do_last)
  );

  always #5 clk = ~clk;

  // The next word of the file, and whether it is a status. Lines of words are NAME = WORD; all others are for readers.
  task next_word;
    begin
      there = 0;
      char = $fgetc(file);
      while (char != EOF && !there) begin
        if (char >= "A" && char <= "Z") begin
          status = char == "S";
          instruction = char == "I";
          word = 0;
          while (char != "=") char = $fgetc(file);
          while (char != "\n" && char != EOF) begin
            if (char >= "0" && char <= "9") word = {word[W-5:0], char[3:0]};
            if (char >= "A" && char <= "F") word = {word[W-5:0], char[3:0] + 4'd9};
            char = $fgetc(file);
          end
          there = 1;
        end else begin
          while (char != "\n" && char != EOF) char = $fgetc(file);
          char = $fgetc(file);
        end
      end
    end
  endtask

  task open(input [8*16-1:0] path);
    begin
      file = $fopen(path, "r");
      if (file == 0) begin
        $display("%0s is not found from here: operation lwc: 0 passed, 1 failed", path);
        $finish;
      end
      next_word;
    end
  endtask

  initial begin
    if (!$value$plusargs("seed=%d", seed)) seed = 1;
    if (!$value$plusargs("stall=%d", stall)) stall = 30;
    if (!$value$plusargs("cycles=%d", told)) told = 0;
    random = seed * 32'd747796405 + 32'd2891336453;
    open("kat/pdi.txt");
    while (there) begin
      pdi[pdi_end] = {instruction && (word[W-1:W-4] == 4'h2 || word[W-1:W-4] == 4'h3 || word[W-1:W-4] == 4'h8), word};
      pdi_end = pdi_end + 1;
      next_word;
    end
    $fclose(file);
    open("kat/sdi.txt");
    while (there) begin
      sdi[sdi_end] = word[31:0];
      sdi_end = sdi_end + 1;
      next_word;
    end
    $fclose(file);
    open("kat/do.txt");
    while (there) begin
      expected[expected_end] = {status, word};
      expected_end = expected_end + 1;
      next_word;
    end
    $fclose(file);
  end

  // Whether a port moves: a xorshift generator.
  task draw;
    begin
      random = random ^ (random << 13);
      random = random ^ (random >> 17);
      random = random ^ (random << 5);
      go = random[15:0] % 100 >= stall;
    end
  endtask

  always @(posedge clk) begin : step
    cycles = cycles + 1;
    if (cycles == 4) rst <= 0;
    if (cycles > 4) begin
      idle = idle + 1;
      if (pdi_valid && pdi_ready) begin
        idle = 0;
        if (pdi[pdi_at][W]) begin
          entered = entered + 1;
          begun = cycles;
        end
        pdi_at = pdi_at + 1;
      end
      if (!pdi_valid || pdi_ready) begin
        draw;
        waits = told != 0 && pdi_at < pdi_end && pdi[pdi_at][W] && entered != passed + failed;
        pdi_valid <= go && pdi_at < pdi_end && !waits;
        if (pdi_at < pdi_end) pdi_data <= pdi[pdi_at][W-1:0];
      end
      if (sdi_valid && sdi_ready) begin
        idle = 0;
        sdi_at = sdi_at + 1;
      end
      if (!sdi_valid || sdi_ready) begin
        draw;
        sdi_valid <= go && sdi_at < sdi_end;
        if (sdi_at < sdi_end) sdi_data <= sdi[sdi_at];
      end
      if (do_valid && do_ready) begin
        idle = 0;
        if (expected_at >= expected_end) begin
          if (!wrong) $display("a word more than there should be: %h", do_data);
          wrong = 1;
          failed = failed + 1;
        end else begin
          if ({do_last, do_data} !== expected[expected_at]) begin
            if (!wrong) $display("message %0d: word %0d is %h, last %b, and not %h", passed + failed + 1, expected_at, do_data,
                                 do_last, expected[expected_at]);
            wrong = 1;
          end
          if (expected[expected_at][W]) begin
            if (wrong) failed = failed + 1; else passed = passed + 1;
            if (told != 0) $display("message %0d: %0d cycles", passed + failed, cycles - begun);
            wrong = 0;
          end
          expected_at = expected_at + 1;
        end
      end
      draw;
      do_ready <= go;
      if (expected_at == expected_end) resting = resting + 1;
      // Nothing may come behind the last word; what comes to rest before it is stuck.
      if (resting > 1000 || idle > 100000) begin
        if (expected_at < expected_end) begin
          $display("message %0d: words are missing", passed + failed + 1);
          failed = failed + 1;
        end
        $display("operation lwc: %0d passed, %0d failed", passed, failed);
        $finish;
      end
    end
  end
endmodule
