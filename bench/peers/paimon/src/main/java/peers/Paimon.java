package peers;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.StreamTableCommit;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.sink.StreamWriteBuilder;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowKind;

/** Paimon's writer called by hand: one consumer, a commit every 10 s or 100,000 events. */
public final class Paimon {
    private static final long COMMIT_EVENTS = 100_000;
    private static final long COMMIT_NANOS = 10_000_000_000L;

    private final Decoder decoder;
    private StreamTableWrite write;
    private StreamTableCommit commit;
    private long commits;

    public static void main(String[] args) throws Exception {
        Decoder decoder = args[5].equals("avro") ? new AvroDecoder(args[6]) : new JsonDecoder();
        new Paimon(decoder).run(args[0], args[1], Long.parseLong(args[2]), Path.of(args[4]).toAbsolutePath());
        Runtime.getRuntime().halt(0);
    }

    private Paimon(Decoder decoder) {
        this.decoder = decoder;
    }

    private void run(String broker, String topic, long events, Path dir) throws Exception {
        StreamWriteBuilder builder = createTable(dir).newStreamWriteBuilder().withCommitUser("peers");
        Path spill = Files.createDirectories(dir.resolve("spill"));
        write = (StreamTableWrite) builder.newWrite().withIOManager(IOManager.create(spill.toString()));
        commit = builder.newCommit();
        KafkaConsumer<byte[], byte[]> consumer = consume(broker, topic);
        long read = 0, sinceCommit = 0, committedAt = System.nanoTime();
        while (read < events) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                write(record.value());
                read++;
                sinceCommit++;
            }
            if (sinceCommit > 0 && (sinceCommit >= COMMIT_EVENTS || read >= events || System.nanoTime() - committedAt > COMMIT_NANOS)) {
                commit.commit(commits, write.prepareCommit(false, commits));
                commits++;
                sinceCommit = 0;
                committedAt = System.nanoTime();
            }
        }
    }

    private static Table createTable(Path dir) throws Exception {
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(new Options(Map.of("warehouse", dir.toUri().toString()))));
        catalog.createDatabase("bench", true);
        Identifier id = Identifier.create("bench", "orders");
        catalog.createTable(id, Schema.newBuilder()
                .column("id", DataTypes.BIGINT().notNull())
                .column("customer_id", DataTypes.INT())
                .column("product_id", DataTypes.INT())
                .column("quantity", DataTypes.INT())
                .column("warehouse_id", DataTypes.INT())
                .column("amount", DataTypes.DECIMAL(12, 2))
                .column("description", DataTypes.STRING())
                .column("status", DataTypes.STRING())
                .column("created_at", DataTypes.TIMESTAMP(6))
                .column("updated_at", DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(6))
                .column("active", DataTypes.BOOLEAN())
                .column("score", DataTypes.DOUBLE())
                .primaryKey("id")
                .option("bucket", "4")
                .option("changelog-producer", "input")
                .option("file.format", "parquet")
                .option("write-only", "true")
                .build(), false);
        return catalog.getTable(id);
    }

    private static KafkaConsumer<byte[], byte[]> consume(String broker, String topic) {
        Properties p = new Properties();
        p.put("bootstrap.servers", broker);
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("enable.auto.commit", "false");
        p.put("max.poll.records", "5000");
        p.put("fetch.min.bytes", "65536");
        p.put("max.partition.fetch.bytes", "4194304");
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p);
        List<TopicPartition> partitions = consumer.partitionsFor(topic).stream().map(i -> new TopicPartition(topic, i.partition())).toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        return consumer;
    }

    /** Writes the rows of one event. */
    private void write(byte[] value) throws Exception {
        decoder.decode(value);
        GenericRow before = decoder.before, after = decoder.after;
        if (before != null) {
            before.setRowKind(after == null ? RowKind.DELETE : RowKind.UPDATE_BEFORE);
            write.write(before);
        }
        if (after != null) {
            after.setRowKind(before == null ? RowKind.INSERT : RowKind.UPDATE_AFTER);
            write.write(after);
        }
    }
}
