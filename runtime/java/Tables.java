package headrace;

/** Tables that are written as text, in hexadecimal digits: initialisers of arrays are code, of which a class has little. */
final class Tables {
    private Tables() {}

    private static String[] items(String[] texts) {
        return String.join(" ", texts).strip().split("\\s+");
    }

    static boolean[] booleans(String... texts) {
        String[] items = items(texts);
        boolean[] table = new boolean[items.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = items[i].equals("1");
        }
        return table;
    }

    static byte[] bytes(String... texts) {
        String[] items = items(texts);
        byte[] table = new byte[items.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = (byte) Integer.parseInt(items[i], 16);
        }
        return table;
    }

    static short[] shorts(String... texts) {
        String[] items = items(texts);
        short[] table = new short[items.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = (short) Integer.parseInt(items[i], 16);
        }
        return table;
    }

    static int[] ints(String... texts) {
        String[] items = items(texts);
        int[] table = new int[items.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = Integer.parseUnsignedInt(items[i], 16);
        }
        return table;
    }

    static long[] longs(String... texts) {
        String[] items = items(texts);
        long[] table = new long[items.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = Long.parseUnsignedLong(items[i], 16);
        }
        return table;
    }

    static float[] floats(String... texts) {
        int[] bits = ints(texts);
        float[] table = new float[bits.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = Float.intBitsToFloat(bits[i]);
        }
        return table;
    }

    static double[] doubles(String... texts) {
        long[] bits = longs(texts);
        double[] table = new double[bits.length];
        for (int i = 0; i < table.length; i++) {
            table[i] = Double.longBitsToDouble(bits[i]);
        }
        return table;
    }
}
