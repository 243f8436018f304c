package peers;

import org.apache.paimon.data.GenericRow;

/** Reads the images of a row from a record of the benchmark; null where there is none. */
abstract class Decoder {
    GenericRow before;
    GenericRow after;

    abstract void decode(byte[] value) throws Exception;
}
