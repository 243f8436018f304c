package paimonverify;

import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The command line. Exit codes: 0 fine, 1 fsck found faults, 2 wrong usage, 3 any failure. */
public final class Main {
    private static final String USAGE =
            """
            paimon-verify COMMAND --warehouse W --table db.t [options]
              rows       [--snapshot N | --tag T]         the table's rows, by primary key
              changelog  [--mode M] [--from-snapshot A] [--to B]
                         M: from-snapshot (if A is given), latest-full (else), earliest,
                            from-snapshot-full, latest, compacted-full, from-timestamp
                         what a streaming reader sees until it has caught up
              files      [--system files,snapshots,...]   system tables as JSON
              fsck       [--replay all|last|none] [--strict] [--interleaved]   checks everything reachable
              write      --input F|- [--user U]           runs a script of records and steps
              compact    [--user U]                       full compaction of every bucket
              expire     [--retain-max N] [--retain-min N] [--retain-millis T]
                         [--changelog-retain-max N] [--changelog-retain-min N]
                         [--changelog-retain-millis T]
              tag        --name T [--snapshot N]
              serve [--threads N]                         requests {"id":1,"words":[...]} on stdin, a line
                                                          each; answers {"id","rc","out","err"} on stdout,
                                                          each when it is ready
            Any table command takes --option key=value (table options for this run only),
            --catalog-option key=value, and for S3 --s3-endpoint URL with --s3-access-key and
            --s3-secret-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
            """;

    private Main() {}

    public static void main(String[] words) throws Exception {
        PrintStream out = utf8(new FileOutputStream(FileDescriptor.out));
        PrintStream err = utf8(new FileOutputStream(FileDescriptor.err));
        int rc;
        if (words.length > 0 && words[0].equals("serve")) {
            serve(new Args(Arrays.asList(words)).getLong("threads"), out);
            rc = 0;
        } else {
            rc = run(Arrays.asList(words), out, err);
        }
        out.flush();
        err.flush();
        // Paimon leaves non-daemon pools behind; do not wait for them.
        Runtime.getRuntime().halt(rc);
    }

    private static int run(List<String> words, PrintStream out, PrintStream err) {
        try {
            Args args = new Args(words);
            switch (args.command) {
                case "rows":
                    return Reads.rows(args, out);
                case "changelog":
                    return Reads.changelog(args, out);
                case "files":
                    return Reads.files(args, out);
                case "fsck":
                    return new Fsck(args, out).run();
                case "write":
                    return Writes.write(args, out);
                case "compact":
                    return Writes.compact(args, out);
                case "expire":
                    return Writes.expire(args, out);
                case "tag":
                    return Writes.tag(args, out);
                default:
                    throw new Args.UsageException("unknown command " + args.command);
            }
        } catch (Args.UsageException e) {
            err.println(e.getMessage());
            err.print(USAGE);
            return 2;
        } catch (Throwable e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            err.print(trace);
            return 3;
        }
    }

    private static void serve(Long threads, PrintStream out) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        ExecutorService pool = Executors.newFixedThreadPool(threads == null ? 1 : threads.intValue());
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.isBlank()) {
                continue;
            }
            JsonNode request = mapper.readTree(line);
            List<String> words = new ArrayList<>();
            for (JsonNode word : request.get("words")) {
                words.add(word.asText());
            }
            long id = request.get("id").asLong();
            pool.execute(() -> answer(id, words, out));
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.HOURS);
    }

    private static void answer(long id, List<String> words, PrintStream out) {
        ByteArrayOutputStream stdout = new ByteArrayOutputStream();
        ByteArrayOutputStream stderr = new ByteArrayOutputStream();
        int rc;
        try (PrintStream o = utf8(stdout);
                PrintStream e = utf8(stderr)) {
            rc = run(words, o, e);
        }
        String text = "{\"id\":" + id
                + ",\"rc\":" + rc
                + ",\"out\":" + Canon.quote(stdout.toString(StandardCharsets.UTF_8))
                + ",\"err\":" + Canon.quote(stderr.toString(StandardCharsets.UTF_8)) + "}";
        synchronized (out) {
            out.println(text);
            out.flush();
        }
    }

    private static PrintStream utf8(java.io.OutputStream out) {
        return new PrintStream(
                new java.io.BufferedOutputStream(out, 1 << 16), false, StandardCharsets.UTF_8);
    }
}
