package peers;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.util.Utf8;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;

/** Avro behind the five bytes of Confluent's registry: one schema, of which only the images are read. */
final class AvroDecoder extends Decoder {
    private static final int HEADER = 5;

    private final String registry;
    private GenericDatumReader<GenericRecord> reader;
    private BinaryDecoder decoder;

    AvroDecoder(String registry) {
        this.registry = registry;
    }

    @Override
    void decode(byte[] value) throws Exception {
        if (reader == null) {
            Schema written = schema(ByteBuffer.wrap(value, 1, 4).getInt());
            List<Schema.Field> images = List.of("before", "after").stream().map(n -> new Schema.Field(written.getField(n), written.getField(n).schema())).toList();
            reader = new GenericDatumReader<>(written, Schema.createRecord(written.getName(), null, written.getNamespace(), false, images));
        }
        decoder = DecoderFactory.get().binaryDecoder(value, HEADER, value.length - HEADER, decoder);
        GenericRecord envelope = reader.read(null, decoder);
        before = row((GenericRecord) envelope.get(0));
        after = row((GenericRecord) envelope.get(1));
    }

    private Schema schema(int id) throws Exception {
        String text = new ObjectMapper().readTree(URI.create(registry + "/schemas/ids/" + id).toURL()).get("schema").asText();
        return new Schema.Parser().parse(text);
    }

    private static GenericRow row(GenericRecord v) {
        if (v == null) {
            return null;
        }
        GenericRow r = new GenericRow(12);
        for (int i = 0; i < 12; i++) {
            Object x = v.get(i);
            r.setField(i, x == null ? null : switch (i) {
                case 5 -> Decimal.fromBigDecimal(new BigDecimal(new BigInteger(((ByteBuffer) x).array()), 2), 12, 2);
                case 6, 7 -> BinaryString.fromBytes(((Utf8) x).getBytes(), 0, ((Utf8) x).getByteLength());
                case 8 -> Timestamp.fromMicros((Long) x);
                case 9 -> Timestamp.fromInstant(Instant.parse((Utf8) x));
                default -> x;
            });
        }
        return r;
    }
}
