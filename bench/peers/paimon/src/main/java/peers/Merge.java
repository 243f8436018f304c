package peers;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;

/**
 * Reads or compacts the table bench.orders of one warehouse after the other, and prints the CPU of each. The first ones pay for
 * the JVM's warming up: give the same table many times, or copies of it.
 */
public final class Merge {
    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] args) throws Exception {
        for (int i = 2; i < args.length; i++) {
            Path dir = Path.of(args[i]).toAbsolutePath();
            Table table = CatalogFactory.createCatalog(CatalogContext.create(new Options(Map.of("warehouse", dir.toUri().toString()))))
                    .getTable(Identifier.create("bench", "orders"));
            long before = SYSTEM.getProcessCpuTime();
            long rows = args[0].equals("read") ? read(table) : compact(table, dir, Integer.parseInt(args[1]));
            System.out.printf("RESULT rows=%d cpu_s=%.3f%n", rows, (SYSTEM.getProcessCpuTime() - before) / 1e9);
        }
        Runtime.getRuntime().halt(0);
    }

    private static long read(Table table) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        long[] rows = {0};
        for (Split split : builder.newScan().plan().splits()) {
            try (RecordReader<InternalRow> reader = builder.newRead().createReader(split)) {
                reader.forEachRemaining(row -> rows[0]++);
            }
        }
        return rows[0];
    }

    private static long compact(Table table, Path dir, int buckets) throws Exception {
        BatchWriteBuilder builder = table.copy(Map.of("write-only", "false")).newBatchWriteBuilder();
        Path spill = Files.createDirectories(dir.resolve("spill"));
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(IOManager.create(spill.toString()));
            for (int bucket = 0; bucket < buckets; bucket++) {
                write.compact(BinaryRow.EMPTY_ROW, bucket, true);
            }
            commit.commit(write.prepareCommit());
        }
        return 0;
    }
}
