package paimonverify;

import org.apache.paimon.AppendOnlyFileStore;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.RowKeyExtractor;
import org.apache.paimon.table.sink.StreamTableCommit;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.sink.StreamWriteBuilder;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.RowKind;

import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The commands that change a table, all through Paimon's own writer, committer and catalog. */
final class Writes {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Writes() {}

    static int write(Args args, PrintStream out) throws Exception {
        String input = args.require("input");
        try (Session session = new Session(args, out);
                BufferedReader lines = input.equals("-")
                        ? new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
                        : Files.newBufferedReader(Path.of(input))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.isBlank() && !line.startsWith("#")) {
                    session.step(JSON.readTree(line));
                }
            }
            session.commitPending();
        }
        return 0;
    }

    static int compact(Args args, PrintStream out) throws Exception {
        return step(args, out, "{\"op\":\"compact\"}");
    }

    static int expire(Args args, PrintStream out) throws Exception {
        StringBuilder op = new StringBuilder("{\"op\":\"expire\"");
        for (String name : List.of("retain-max", "retain-min", "retain-millis",
                "changelog-retain-max", "changelog-retain-min", "changelog-retain-millis")) {
            if (args.has(name)) {
                op.append(",\"").append(name).append("\":").append(args.getLong(name));
            }
        }
        return step(args, out, op.append("}").toString());
    }

    static int tag(Args args, PrintStream out) throws Exception {
        return step(args, out, "{\"op\":\"tag\",\"name\":" + Canon.quote(args.require("name"))
                + (args.has("snapshot") ? ",\"snapshot\":" + args.getLong("snapshot") : "") + "}");
    }

    private static int step(Args args, PrintStream out, String op) throws Exception {
        try (Session session = new Session(args, out)) {
            session.step(JSON.readTree(op));
        }
        return 0;
    }

    /** One writer and committer of a table, reopened whenever its schema changes. */
    private static final class Session implements AutoCloseable {
        private final Args args;
        private final PrintStream out;
        private final Catalog catalog;
        private final Identifier id;
        private final String user;
        private final IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
        private FileStoreTable table;
        private StreamTableWrite write;
        private StreamTableCommit commit;
        private HashBucketAssigner assigner;
        private RowKeyExtractor keys;
        private boolean pending;

        Session(Args args, PrintStream out) {
            this.args = args;
            this.out = out;
            this.catalog = Tables.catalog(args);
            this.id = Tables.identifier(args);
            this.user = args.get("user", "paimon-verify");
        }

        void step(JsonNode json) throws Exception {
            String op = json.path("op").asText("record");
            switch (op) {
                case "record":
                    record(json);
                    return;
                case "create":
                    create(json);
                    break;
                case "commit":
                    commit(json.has("id") ? json.get("id").asLong() : nextCommitId(), json);
                    break;
                case "compact":
                    compact();
                    break;
                case "alter":
                    alter(json);
                    break;
                case "tag":
                    commitPending();
                    if (json.has("snapshot")) {
                        table().createTag(json.get("name").asText(), json.get("snapshot").asLong());
                    } else {
                        table().createTag(json.get("name").asText());
                    }
                    break;
                case "expire":
                    expire(json);
                    break;
                case "rollback":
                    commitPending();
                    table().rollbackTo(json.get("snapshot").asLong());
                    reopen();
                    break;
                default:
                    throw new IllegalArgumentException("unknown step " + op);
            }
            Long latest = table().snapshotManager().latestSnapshotId();
            out.println("{\"op\":\"" + op + "\",\"latestSnapshot\":" + latest + "}");
        }

        private FileStoreTable table() throws Exception {
            if (table == null) {
                table = Tables.open(catalog, args);
            }
            return table;
        }

        private void create(JsonNode json) throws Exception {
            catalog.createDatabase(id.getDatabaseName(), true);
            Schema.Builder schema = Schema.newBuilder();
            for (JsonNode column : json.get("columns")) {
                JsonNode comment = column.get("comment");
                schema.column(column.get("name").asText(), type(column.get("type")),
                        comment == null ? null : comment.asText());
            }
            schema.primaryKey(strings(json.path("primaryKeys")));
            schema.partitionKeys(strings(json.path("partitionKeys")));
            json.path("options").fields().forEachRemaining(o -> schema.option(o.getKey(), o.getValue().asText()));
            if (json.has("comment")) {
                schema.comment(json.get("comment").asText());
            }
            catalog.createTable(id, schema.build(), false);
        }

        private void record(JsonNode json) throws Exception {
            if (write == null) {
                openWriter();
            }
            GenericRow row = Canon.parseRow(json.get("row"), table.rowType());
            row.setRowKind(RowKind.fromShortString(json.path("kind").asText("+I")));
            if (json.has("bucket")) {
                write.write(row, json.get("bucket").asInt());
            } else if (assigner != null) {
                keys.setRecord(row);
                write.write(row, assigner.assign(keys.partition(), keys.trimmedPrimaryKey().hashCode()));
            } else if (table.bucketMode() == BucketMode.HASH_FIXED || table.bucketMode() == BucketMode.POSTPONE_MODE) {
                write.write(row);
            } else {
                // Cross-partition tables: their assigner lives in Flink. One bucket is always right.
                write.write(row, 0);
            }
            pending = true;
        }

        private void openWriter() throws Exception {
            FileStoreTable table = table();
            StreamWriteBuilder builder = table.newStreamWriteBuilder().withCommitUser(user);
            write = (StreamTableWrite) builder.newWrite().withIOManager(io);
            commit = builder.newCommit();
            keys = table.createRowKeyExtractor();
            assigner = table.bucketMode() != BucketMode.HASH_DYNAMIC ? null
                    : new HashBucketAssigner(
                            table.snapshotManager(), user, table.store().newIndexFileHandler(), 1, 1, 0,
                            table.coreOptions().dynamicBucketTargetRowNum(),
                            table.coreOptions().dynamicBucketMaxBuckets());
        }

        void commitPending() throws Exception {
            if (pending) {
                step(JSON.readTree("{\"op\":\"commit\"}"));
            }
        }

        private void commit(long commitId, JsonNode json) throws Exception {
            if (write == null) {
                openWriter();
            }
            boolean wait = json.path("waitCompaction").asBoolean(true);
            if (assigner != null) {
                assigner.prepareCommit(commitId);
            }
            commit.commit(commitId, write.prepareCommit(wait, commitId));
            pending = false;
        }

        private void compact() throws Exception {
            commitPending();
            closeWriter();
            table = table().copy(Map.of("write-only", "false"));
            openWriter();
            if (table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
                compactUnaware();
                return;
            }
            for (BucketEntry bucket : table.newSnapshotReader().bucketEntries()) {
                write.compact(bucket.partition(), bucket.bucket(), true);
            }
            // No snapshot for the appended nothing, only the COMPACT one.
            ((TableCommitImpl) commit).ignoreEmptyCommit(true);
            commit(nextCommitId(), JSON.createObjectNode());
            reopen();
        }

        /** One round of what Flink's compaction topology does for an append table without buckets. */
        private void compactUnaware() throws Exception {
            List<AppendCompactTask> tasks = new AppendCompactCoordinator(table, false).run();
            BaseAppendFileStoreWrite rewriter = ((AppendOnlyFileStore) table.store()).newWrite(user);
            rewriter.withIOManager(io);
            List<CommitMessage> made = new ArrayList<>();
            for (AppendCompactTask task : tasks) {
                made.add(task.doCompact(table, rewriter));
            }
            ((TableCommitImpl) commit).ignoreEmptyCommit(true);
            commit.commit(nextCommitId(), made);
            reopen();
        }

        private long nextCommitId() throws Exception {
            return table().snapshotManager().latestSnapshotOfUser(user)
                    .map(s -> s.commitIdentifier() + 1).orElse(1L);
        }

        private void alter(JsonNode json) throws Exception {
            commitPending();
            List<SchemaChange> changes = new ArrayList<>();
            if (json.has("add")) {
                JsonNode column = json.get("add");
                String name = column.get("name").asText();
                changes.add(column.has("after")
                        ? SchemaChange.addColumn(name, type(column.get("type")), null,
                                SchemaChange.Move.after(name, column.get("after").asText()))
                        : SchemaChange.addColumn(name, type(column.get("type"))));
            }
            if (json.has("rename")) {
                changes.add(SchemaChange.renameColumn(
                        json.get("rename").get(0).asText(), json.get("rename").get(1).asText()));
            }
            if (json.has("retype")) {
                changes.add(SchemaChange.updateColumnType(
                        json.get("retype").get(0).asText(), type(json.get("retype").get(1))));
            }
            if (json.has("drop")) {
                changes.add(SchemaChange.dropColumn(json.get("drop").asText()));
            }
            if (json.has("set")) {
                json.get("set").fields().forEachRemaining(
                        e -> changes.add(SchemaChange.setOption(e.getKey(), e.getValue().asText())));
            }
            catalog.alterTable(id, changes, false);
            reopen();
        }

        private void expire(JsonNode json) throws Exception {
            commitPending();
            ExpireConfig.Builder config = ExpireConfig.builder();
            int max = json.path("retain-max").asInt(Integer.MAX_VALUE);
            int min = json.path("retain-min").asInt(1);
            long millis = json.path("retain-millis").asLong(Long.MAX_VALUE);
            config.snapshotRetainMax(max).snapshotRetainMin(min).snapshotTimeRetain(Duration.ofMillis(millis));
            config.changelogRetainMax(json.path("changelog-retain-max").asInt(max));
            config.changelogRetainMin(json.path("changelog-retain-min").asInt(min));
            config.changelogTimeRetain(Duration.ofMillis(json.path("changelog-retain-millis").asLong(millis)));
            table().newExpireSnapshots().config(config.build()).expire();
            table().newExpireChangelog().config(config.build()).expire();
        }

        private void reopen() throws Exception {
            closeWriter();
            table = null;
        }

        private void closeWriter() throws Exception {
            if (write != null) {
                write.close();
                commit.close();
            }
            write = null;
            commit = null;
            assigner = null;
        }

        @Override
        public void close() throws Exception {
            closeWriter();
            io.close();
            catalog.close();
        }

        private static DataType type(JsonNode json) {
            return DataTypeJsonParser.parseDataType(json);
        }

        private static List<String> strings(JsonNode json) {
            List<String> result = new ArrayList<>();
            json.forEach(s -> result.add(s.asText()));
            return result;
        }
    }
}
