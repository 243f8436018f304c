package peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.math.BigDecimal;
import java.time.Instant;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;

/** JSON by a streaming parser; a schema beside the payload is passed over. */
final class JsonDecoder extends Decoder {
    private final JsonFactory json = new JsonFactory();

    @Override
    void decode(byte[] value) throws Exception {
        before = null;
        after = null;
        try (JsonParser p = json.createParser(value)) {
            p.nextToken();
            envelope(p);
        }
    }

    private void envelope(JsonParser p) throws Exception {
        while (p.nextToken() == JsonToken.FIELD_NAME) {
            String name = p.currentName();
            p.nextToken();
            switch (name) {
                case "payload" -> envelope(p);
                case "before" -> before = row(p);
                case "after" -> after = row(p);
                default -> p.skipChildren();
            }
        }
    }

    private GenericRow row(JsonParser p) throws Exception {
        if (p.currentToken() == JsonToken.VALUE_NULL) {
            return null;
        }
        GenericRow r = new GenericRow(12);
        while (p.nextToken() == JsonToken.FIELD_NAME) {
            String name = p.currentName();
            if (p.nextToken() == JsonToken.VALUE_NULL) {
                continue;
            }
            switch (name) {
                case "id" -> r.setField(0, p.getLongValue());
                case "customer_id" -> r.setField(1, p.getIntValue());
                case "product_id" -> r.setField(2, p.getIntValue());
                case "quantity" -> r.setField(3, p.getIntValue());
                case "warehouse_id" -> r.setField(4, p.getIntValue());
                case "amount" -> r.setField(5, Decimal.fromBigDecimal(new BigDecimal(p.getText()), 12, 2));
                case "description" -> r.setField(6, BinaryString.fromString(p.getText()));
                case "status" -> r.setField(7, BinaryString.fromString(p.getText()));
                case "created_at" -> r.setField(8, Timestamp.fromMicros(p.getLongValue()));
                case "updated_at" -> r.setField(9, Timestamp.fromInstant(Instant.parse(p.getText())));
                case "active" -> r.setField(10, p.getBooleanValue());
                case "score" -> r.setField(11, p.getDoubleValue());
                default -> p.skipChildren();
            }
        }
        return r;
    }
}
