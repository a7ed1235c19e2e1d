package arroyo_nb;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.spark.SparkEnv;
import org.apache.spark.security.SocketAuthHelper;
import org.apache.spark.security.SocketAuthServer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.arrow.ArrowBatchStreamWriter;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * A sink that gives Python the rows of each micro-batch as Arrow.
 *
 * <p>A function of {@code foreachBatch} that collects its rows has them planned a second
 * time and starts a job of its own, by some twenty calls between Python and Java: half of
 * a small batch. Here the tasks of the batch itself encode their rows, the driver sends
 * them on, and Python is called twice.
 */
public final class ArrowSink implements TableProvider {
  /** What Python has for each query. */
  public interface Receiver {
    /** A batch is about to be computed; returns when it may be. Spark does not say which. */
    void begin();

    /**
     * The rows of the batch, before Spark commits it.
     *
     * @param rows how many; a stream that ends with this process looks like a whole one
     * @param address where an Arrow stream of them is served, as PySpark's own are; null:
     *     there are none
     */
    void take(long batchId, long rows, Object address, String secret);
  }

  private static final String RECEIVER = "receiver";
  private static final String TIME_ZONE = "UTC";
  private static final int BATCH_ROWS = 10_000;
  private static final Map<String, Receiver> RECEIVERS = new ConcurrentHashMap<>();

  /** Have the query whose option {@code receiver} is this key call it. */
  public static void register(String key, Receiver receiver) {
    RECEIVERS.put(key, receiver);
  }

  /** Forget it: its query has ended. */
  public static void forget(String key) {
    RECEIVERS.remove(key);
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Rows(new CaseInsensitiveStringMap(properties).get(RECEIVER));
  }

  private record Rows(String key) implements SupportsWrite {
    @Override
    public String name() {
      return "rows for Python";
    }

    @Override
    public String toString() {
      return name(); // as the progress of the query names its sink
    }

    @Override
    public StructType schema() {
      return new StructType();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return EnumSet.of(
          TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return new WriteBuilder() {
        @Override
        public Write build() {
          return new Write() {
            @Override
            public StreamingWrite toStreaming() {
              return new Batches(key, info.schema());
            }
          };
        }
      };
    }
  }

  /** On the driver. */
  private record Batches(String key, StructType schema) implements StreamingWrite {
    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
      receiver().begin();
      return new Factory(schema);
    }

    @Override
    public boolean useCommitCoordinator() {
      return false;
    }

    @Override
    public void commit(long batchId, WriterCommitMessage[] messages) {
      Receiver receiver = receiver();
      // Spark holds the messages until this returns: they give up what they have, or the
      // whole batch would lie here while Python writes it.
      Queue<byte[]> encoded = new ArrayDeque<>();
      long rows = 0;
      for (WriterCommitMessage message : messages) {
        Encoded part = (Encoded) message;
        rows += part.rows();
        encoded.addAll(part.batches());
        part.batches().clear();
      }
      if (rows == 0) {
        receiver.take(batchId, 0, null, null);
        return;
      }
      // Not by the call itself: a call of more than 8 KB waits 40 ms for the delayed
      // acknowledgement of its first part.
      Object[] served =
          SocketAuthServer.serveToStream(
              "serve rows",
              new SocketAuthHelper(SparkEnv.get().conf()),
              out -> {
                send(encoded, out);
                return BoxedUnit.UNIT;
              });
      try {
        receiver.take(batchId, rows, served[0], (String) served[1]);
      } catch (Throwable problem) {
        endServing(served[0]);
        throw problem;
      }
    }

    private void send(Queue<byte[]> encoded, OutputStream out) {
      ArrowBatchStreamWriter stream =
          new ArrowBatchStreamWriter(schema, out, TIME_ZONE, true, false);
      while (!encoded.isEmpty()) {
        stream.writeBatches(CollectionConverters.asScala(List.of(encoded.remove()).iterator()));
      }
      stream.end();
    }

    /**
     * Lets Spark's server end. At a Unix socket, as our sessions have, it waits for ever
     * for a client, and holds the rows; at a port it gives up by itself.
     */
    private static void endServing(Object address) {
      // A channel cannot be opened by a thread that is interrupted, as a query that is
      // stopped is.
      boolean interrupted = Thread.interrupted();
      try {
        if (address instanceof String path) {
          SocketChannel.open(UnixDomainSocketAddress.of(path)).close();
        }
      } catch (IOException gone) {
        // Python has connected.
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    private Receiver receiver() {
      Receiver receiver = RECEIVERS.get(key);
      if (receiver == null) {
        throw new IllegalStateException("the run has released its sink");
      }
      return receiver;
    }

    @Override
    public void abort(long batchId, WriterCommitMessage[] messages) {
      // What was encoded is gone with its tasks.
    }
  }

  private record Encoded(long rows, List<byte[]> batches) implements WriterCommitMessage {}

  private record Factory(StructType schema) implements StreamingDataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long batchId) {
      return new Encoder(schema);
    }
  }

  /** In a task: encodes its rows, without the schema, which they share. */
  private static final class Encoder implements DataWriter<InternalRow> {
    private final StructType schema;
    private final List<byte[]> batches = new ArrayList<>();
    private BufferAllocator allocator;
    private VectorSchemaRoot root;
    private ArrowWriter writer;
    private long all;
    private int rows;

    Encoder(StructType schema) {
      this.schema = schema;
    }

    @Override
    public void write(InternalRow row) throws IOException {
      if (writer == null) {
        // Most tasks of a small batch have no rows.
        allocator =
            ArrowUtils.rootAllocator().newChildAllocator("rows", 0, Long.MAX_VALUE);
        root =
            VectorSchemaRoot.create(
                ArrowUtils.toArrowSchema(schema, TIME_ZONE, true, false, false), allocator);
        writer = ArrowWriter.create(root);
      }
      writer.write(row);
      rows++;
      if (rows == BATCH_ROWS) {
        encode();
      }
    }

    private void encode() throws IOException {
      writer.finish();
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (ArrowRecordBatch batch = new VectorUnloader(root).getRecordBatch()) {
        MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), batch);
      }
      batches.add(out.toByteArray());
      all += rows;
      writer.reset();
      rows = 0;
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
      if (rows > 0) {
        encode();
      }
      return new Encoded(all, batches);
    }

    @Override
    public void abort() {
      // close() is called as well.
    }

    @Override
    public void close() {
      if (root != null) {
        root.close();
      }
      if (allocator != null) {
        allocator.close();
      }
    }
  }
}
