package arroyo_nb;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.AccumulatorV2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts the rows of each micro-batch by their pane: the piece of event time that they lie
 * in.
 *
 * <p>Spark's own observation ends the code that Spark generates for a stage, and makes its
 * histogram row by row: a quarter of what a windowed count takes. This is a predicate in
 * the middle of that code, true for every row, and an accumulator: a task counts, and the
 * driver adds up the counts of the tasks that succeed. It is for a Spark of one process: a
 * stage that is run again, as one is when a worker is lost, would count again.
 *
 * <p>A task that reads a partition of a topic counts for that partition, where the records
 * were {@link #placed}. No task reads two. Behind a shuffle a task has rows of all of them.
 */
public final class PaneCounts extends AccumulatorV2<Long, Long> {
  private static final String BATCH_ID = "streaming.sql.batchId"; // of MicroBatchExecution
  private static final long NO_STREAM = -1;
  private static final long NO_TIME = Long.MIN_VALUE;

  /** Event times of a batch that are kept: a power of two. */
  private static final int SAMPLE = 64;

  private final long width;
  private final int most;
  private final TreeMap<Long, TreeMap<Long, Panes>> batches = new TreeMap<>(); // by place
  private transient Panes current;

  /**
   * @param width of a pane, in microseconds
   * @param most panes of one batch that are told apart
   */
  public PaneCounts(long width, int most) {
    this.width = width;
    this.most = most;
  }

  /**
   * The rows, counted on their way; may be called once.
   *
   * @param micros their event time since the epoch, in microseconds, as SQL; a row is not
   *     counted where that is null
   */
  public Dataset<Row> counted(Dataset<Row> rows, String micros) {
    rows.sparkSession().sparkContext().register(this);
    Column time = functions.coalesce(functions.expr(micros), functions.lit(NO_TIME));
    return rows.filter(ExpressionUtils.column(call(this, "count", time)));
  }

  /**
   * The rows, counted as by {@link #counted(Dataset, String)}; of those that are drawn for
   * the sample a text is kept too.
   *
   * @param text what is told of a row, as SQL, in one line; it is evaluated for the rows
   *     that are drawn and for no other
   */
  public Dataset<Row> counted(Dataset<Row> rows, String micros, String text) {
    rows.sparkSession().sparkContext().register(this);
    Column time = functions.coalesce(functions.expr(micros), functions.lit(NO_TIME));
    Column told = functions.coalesce(functions.expr(text), functions.lit(""));
    Sampler sampler = new Sampler(this);
    // Spark evaluates the second one where the first is false.
    return rows.filter(
        ExpressionUtils.column(call(sampler, "count", time))
            .or(ExpressionUtils.column(call(sampler, "tell", told))));
  }

  /**
   * The records of a topic; each task notes which partition it reads.
   *
   * @param source a number of the table
   * @param partition the partition of a record, as SQL
   */
  public static Dataset<Row> placed(Dataset<Row> records, int source, String partition) {
    Column number = functions.expr("CAST(" + partition + " AS INT)");
    Column known = functions.coalesce(number, functions.lit(Place.UNKNOWN));
    return records.filter(ExpressionUtils.column(call(new Place(source), "note", known)));
  }

  /**
   * A call in the generated code: it takes a long and not an object, as a user-defined
   * function does, at a third of the cost.
   */
  private static Expression call(Object target, String method, Column argument) {
    // Not deterministic, or Spark would move it below an aggregate or a watermark, where
    // other rows flow, or merge it with another predicate, which then decides what it sees.
    boolean deterministic = false;
    Seq<Expression> arguments = seq(ExpressionUtils.expression(argument));
    return new Invoke(
        Literal.fromObject(target),
        method,
        DataTypes.BooleanType,
        arguments,
        seq(),
        false, // no NULL comes
        false, // and none is returned
        deterministic);
  }

  @SafeVarargs
  private static <T> Seq<T> seq(T... items) {
    return CollectionConverters.asScala(List.of(items)).toSeq();
  }

  /**
   * What a batch counted; the batches before it are forgotten.
   *
   * @return null: no row; else 64-bit numbers, how many of them stands first: the newest
   *     event time, how many panes are counted together, how many event times are in the
   *     sample, the sample, how many panes there are, and of each its start and its rows;
   *     then for each place that is known its number, its panes and their rows, as before.
   *     Behind the numbers are the texts of the sample, a line each; nothing without texts
   */
  public synchronized byte[] take(long batchId) {
    Map<Long, Panes> found = batches.get(batchId);
    batches.headMap(batchId, false).clear();
    if (found == null) {
      return null;
    }
    Panes all = new Panes(width, most);
    found.values().forEach(all::merge);
    int numbers = 5 + all.sampled + 2 * all.rows.size();
    for (Map.Entry<Long, Panes> place : found.entrySet()) {
      place.getValue().widenTo(all.together);
      numbers += 2 + 2 * place.getValue().rows.size();
    }
    byte[] texts = all.texts();
    ByteBuffer out = ByteBuffer.allocate(Long.BYTES * numbers + texts.length);
    out.putLong(0).putLong(all.newest).putLong(all.together).putLong(all.sampled);
    for (int i = 0; i < all.sampled; i++) {
      out.putLong(all.sample[i]);
    }
    all.putRows(out);
    found.forEach(
        (place, panes) -> {
          if (place != Place.NONE) {
            panes.putRows(out.putLong(place));
          }
        });
    out.putLong(0, out.position() / Long.BYTES - 1);
    out.put(texts);
    return Arrays.copyOf(out.array(), out.position());
  }

  /**
   * Counts a row; Spark's generated code calls it for each.
   *
   * @param micros its event time, {@link #NO_TIME} where it has none
   * @return true
   */
  public boolean count(long micros) {
    draws(micros);
    return true;
  }

  private boolean draws(long micros) {
    if (micros == NO_TIME) {
      return false;
    }
    if (current == null) {
      current = ofBatch(batchId(), Place.ofTask());
    }
    return current.add(micros);
  }

  private static long batchId() {
    TaskContext task = TaskContext.get();
    if (task == null) {
      throw new IllegalStateException("rows are counted in tasks, not while one plans");
    }
    String batchId = task.getLocalProperty(BATCH_ID);
    return batchId == null ? NO_STREAM : Long.parseLong(batchId);
  }

  private Panes ofBatch(long batchId, long place) {
    return batches
        .computeIfAbsent(batchId, id -> new TreeMap<>())
        .computeIfAbsent(place, key -> new Panes(width, most));
  }

  @Override
  public synchronized void merge(AccumulatorV2<Long, Long> task) {
    ((PaneCounts) task)
        .batches.forEach(
            (id, places) ->
                places.forEach((place, panes) -> ofBatch(id, place).merge(panes)));
  }

  @Override
  public void add(Long micros) {
    count(micros);
  }

  @Override
  public boolean isZero() {
    return batches.isEmpty();
  }

  @Override
  public synchronized PaneCounts copy() {
    PaneCounts copy = copyAndReset();
    copy.merge(this);
    return copy;
  }

  @Override
  public PaneCounts copyAndReset() {
    return new PaneCounts(width, most);
  }

  @Override
  public synchronized void reset() {
    batches.clear();
    current = null;
  }

  /** Says nothing: Spark's heartbeats ask for it while a task counts. */
  @Override
  public Long value() {
    return 0L;
  }

  /**
   * Counts rows, and keeps texts of those that are drawn. Both calls of a task must come to
   * one object: an accumulator is copied each time it is written, this is not.
   */
  public static final class Sampler implements Serializable {
    private final PaneCounts counts;

    Sampler(PaneCounts counts) {
      this.counts = counts;
    }

    /**
     * Counts a row.
     *
     * @param micros as of {@link PaneCounts#count}
     * @return false: it was drawn for the sample, and {@link #tell} is next
     */
    public boolean count(long micros) {
      return !counts.draws(micros);
    }

    /**
     * Keeps a text of the row that was drawn.
     *
     * @return true
     */
    public boolean tell(UTF8String text) {
      Panes drawn = counts.current;
      drawn.told[drawn.sampled - 1] = text.getBytes();
      return true;
    }
  }

  /** Which partition of which source a task reads. */
  public static final class Place implements Serializable {
    static final int UNKNOWN = -1;
    static final long NONE = -1;

    private static final Map<Long, Long> OF_TASKS = new ConcurrentHashMap<>();

    private final int source;
    // A task has its own copy, so this is said once in each.
    private transient boolean noted;

    Place(int source) {
      this.source = source;
    }

    /**
     * Takes note of the partition; Spark's generated code calls it for each record.
     *
     * @return true
     */
    public boolean note(int partition) {
      if (!noted && partition != UNKNOWN) {
        noted = true;
        TaskContext task = TaskContext.get();
        long id = task.taskAttemptId();
        OF_TASKS.put(id, ((long) source << Integer.SIZE) | partition);
        task.addTaskCompletionListener(ended -> { OF_TASKS.remove(id); });
      }
      return true;
    }

    static long ofTask() {
      return OF_TASKS.getOrDefault(TaskContext.get().taskAttemptId(), NONE);
    }
  }

  /** The counts of one batch and place. */
  private static final class Panes implements Serializable {
    private final long width;
    private final int most;
    private final Map<Long, long[]> rows = new HashMap<>();
    private long together = 1;
    private long newest = Long.MIN_VALUE;
    // Every so many rows, a power of two: of few rows all, of many an even draw.
    private final long[] sample = new long[SAMPLE];
    private final byte[][] told = new byte[SAMPLE][];
    private int sampled;
    private long every = 1;
    private long seen;
    // The pane of the row before, which is that of most rows, and the one before it:
    // rows out of order come in turns from two.
    private long start;
    private long end;
    private long[] count;
    private long otherStart;
    private long otherEnd;
    private long[] otherCount;

    Panes(long width, int most) {
      this.width = width;
      this.most = most;
    }

    /** Whether the row was drawn. */
    boolean add(long micros) {
      if (micros < start || micros >= end) {
        turnTo(micros);
      }
      count[0]++;
      newest = Math.max(newest, micros);
      if ((seen++ & (every - 1)) != 0) {
        return false;
      }
      draw(micros, null);
      return true;
    }

    private void draw(long micros, byte[] text) {
      if (sampled == SAMPLE) {
        thin(); // this row is drawn by the wider one too: SAMPLE is even
      }
      told[sampled] = text;
      sample[sampled++] = micros;
    }

    /** Keeps every second one that was drawn. */
    private void thin() {
      every *= 2;
      sampled = (sampled + 1) / 2;
      for (int i = 1; i < sampled; i++) {
        sample[i] = sample[2 * i];
        told[i] = told[2 * i];
      }
    }

    private void turnTo(long micros) {
      turn(); // where neither pane fits, the one used longest ago gives way
      if (micros >= start && micros < end) {
        return;
      }
      do {
        if (rows.size() > most) {
          widen();
        }
        long piece = width * together;
        long pane = Math.floorDiv(micros, piece);
        start = pane * piece;
        end = start + piece;
        count = rows.computeIfAbsent(pane, key -> new long[1]);
      } while (rows.size() > most);
    }

    private void turn() {
      long turnedStart = start;
      long turnedEnd = end;
      long[] turnedCount = count;
      start = otherStart;
      end = otherEnd;
      count = otherCount;
      otherStart = turnedStart;
      otherEnd = turnedEnd;
      otherCount = turnedCount;
    }

    void merge(Panes other) {
      newest = Math.max(newest, other.newest);
      widenTo(other.together);
      long ratio = together / other.together;
      other.rows.forEach((pane, found) -> put(Math.floorDiv(pane, ratio), found[0]));
      while (rows.size() > most) {
        widen();
      }
      mergeSample(other);
    }

    /** Both draws become as wide as the wider one, so that each row weighs the same. */
    private void mergeSample(Panes other) {
      while (every < other.every) {
        thin();
      }
      long ratio = every / other.every;
      for (int i = 0; i < other.sampled; i++) {
        if (i % ratio == 0) {
          if (sampled == SAMPLE) {
            thin();
            ratio *= 2;
            if (i % ratio != 0) {
              continue;
            }
          }
          draw(other.sample[i], other.told[i]);
        }
      }
    }

    /** The texts of the sample, a line each; nothing where there is none. */
    byte[] texts() {
      StringBuilder lines = new StringBuilder();
      for (int i = 0; i < sampled; i++) {
        if (told[i] == null) {
          return new byte[0];
        }
        lines.append(i == 0 ? "" : "\n").append(new String(told[i], StandardCharsets.UTF_8));
      }
      return lines.toString().getBytes(StandardCharsets.UTF_8);
    }

    void widenTo(long least) {
      while (together < least) {
        widen();
      }
    }

    /** Counts two neighbours as one from now on. */
    private void widen() {
      Map<Long, long[]> before = new HashMap<>(rows);
      rows.clear();
      together *= 2;
      before.forEach((pane, found) -> put(Math.floorDiv(pane, 2), found[0]));
      start = end = otherStart = otherEnd = 0;
    }

    private void put(long pane, long found) {
      rows.computeIfAbsent(pane, key -> new long[1])[0] += found;
    }

    void putRows(ByteBuffer out) {
      out.putLong(rows.size());
      rows.forEach((pane, found) -> out.putLong(pane * width * together).putLong(found[0]));
    }
  }
}
