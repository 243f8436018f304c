package peers;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.CheckpointingMode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.paimon.flink.action.cdc.kafka.KafkaSyncTableAction;

/** A job in a cluster within this process, of parallelism 2, with a checkpoint every 10 s: Flink SQL, or Paimon's action for CDC. */
public final class Flink {
    private static final int PARALLELISM = 2;
    private static final long CHECKPOINT_MILLIS = 10_000;

    /** The columns, with the types that Flink's format can read them as; the text of what it cannot. */
    private static String columns(String format) {
        String updated = format.equals("avro") ? "STRING" : "TIMESTAMP_LTZ(6)"; // there in ISO 8601
        return "id BIGINT, customer_id INT, product_id INT, quantity INT, warehouse_id INT, amount DECIMAL(12, 2),"
                + " description STRING, status STRING, created_at BIGINT, updated_at " + updated + ", active BOOLEAN, score DOUBLE";
    }

    public static void main(String[] args) throws Exception {
        String mode = args[0], broker = args[1], topic = args[2];
        long rows = Long.parseLong(args[4]);
        Path dir = Path.of(args[5]).toAbsolutePath();
        String format = args[6], registry = args[7];
        Map<String, String> options = new LinkedHashMap<>();
        options.put("bucket", "4");
        options.put("changelog-producer", "input");
        options.put("file.format", "parquet");
        options.put("write-only", "true");
        options.put("sink.parallelism", "" + PARALLELISM);
        StreamExecutionEnvironment env = environment(dir);
        JobClient job = mode.equals("sql") ? sql(env, broker, topic, dir, options, format, registry) : action(env, broker, topic, dir, options);
        await(job, dir, rows);
        Runtime.getRuntime().halt(0);
    }

    private static StreamExecutionEnvironment environment(Path dir) {
        Configuration c = new Configuration();
        c.set(RestOptions.BIND_PORT, "0");
        c.set(TaskManagerOptions.NUM_TASK_SLOTS, PARALLELISM);
        c.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, dir.resolve("checkpoints").toUri().toString());
        c.setString("table.exec.sink.upsert-materialize", "NONE");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, c);
        env.enableCheckpointing(CHECKPOINT_MILLIS, CheckpointingMode.EXACTLY_ONCE);
        env.getConfig().enableObjectReuse();
        return env;
    }

    private static JobClient action(StreamExecutionEnvironment env, String broker, String topic, Path dir, Map<String, String> options) throws Exception {
        Map<String, String> kafka = new HashMap<>();
        kafka.put("properties.bootstrap.servers", broker);
        kafka.put("properties.group.id", "peers-flink");
        kafka.put("topic", topic);
        kafka.put("value.format", "debezium-json");
        kafka.put("scan.startup.mode", "earliest-offset");
        KafkaSyncTableAction action = new KafkaSyncTableAction("bench", "orders", Map.of("warehouse", dir.toUri().toString()), kafka);
        action.withPrimaryKeys("id").withTableConfig(options);
        action.withStreamExecutionEnvironment(env).build();
        return env.executeAsync("kafka_sync_table");
    }

    private static JobClient sql(StreamExecutionEnvironment env, String broker, String topic, Path dir, Map<String, String> options,
            String format, String registry) {
        String columns = columns(format);
        StreamTableEnvironment t = StreamTableEnvironment.create(env);
        Map<String, String> source = new LinkedHashMap<>();
        source.put("connector", "kafka");
        source.put("topic", topic);
        source.put("properties.bootstrap.servers", broker);
        source.put("properties.group.id", "peers-flink");
        source.put("scan.startup.mode", "earliest-offset");
        if (format.equals("avro")) {
            source.put("format", "debezium-avro-confluent");
            source.put("debezium-avro-confluent.url", registry);
        } else {
            source.put("format", "debezium-json");
            source.put("debezium-json.timestamp-format.standard", "ISO-8601");
            source.put("debezium-json.schema-include", "" + format.equals("json-schema"));
        }
        t.executeSql("CREATE TEMPORARY TABLE events (" + columns + ") WITH (" + with(source) + ")");
        t.executeSql("CREATE CATALOG paimon WITH ('type' = 'paimon', 'warehouse' = '" + dir.toUri() + "')");
        t.executeSql("CREATE DATABASE IF NOT EXISTS paimon.bench");
        t.executeSql("CREATE TABLE paimon.bench.orders (" + columns + ", PRIMARY KEY (id) NOT ENFORCED) WITH (" + with(options) + ")");
        return t.executeSql("INSERT INTO paimon.bench.orders SELECT * FROM default_catalog.default_database.events").getJobClient().get();
    }

    private static String with(Map<String, String> options) {
        return options.entrySet().stream().map(e -> "'" + e.getKey() + "' = '" + e.getValue() + "'").collect(Collectors.joining(", "));
    }

    private static final Pattern CHANGELOG = Pattern.compile("\"changelogRecordCount\"\\s*:\\s*(\\d+)");

    /** Waits until the changelog rows of all snapshots add up. */
    private static void await(JobClient job, Path dir, long rows) throws Exception {
        long snapshot = 1, sum = 0;
        for (int tick = 1; sum < rows; tick++) {
            Thread.sleep(50);
            Path file = dir.resolve("bench.db/orders/snapshot/snapshot-" + snapshot);
            if (Files.exists(file)) {
                Matcher m = CHANGELOG.matcher(Files.readString(file));
                sum += m.find() ? Long.parseLong(m.group(1)) : 0;
                snapshot++;
            } else if (tick % 40 == 0 && job.getJobStatus().get().isGloballyTerminalState()) {
                throw new IllegalStateException("the job ended after " + sum + " of " + rows + " rows");
            }
        }
    }
}
