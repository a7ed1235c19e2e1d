package arroyo_nb;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.ProtocolFamily;
import java.nio.channels.Channel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.logging.log4j.spi.LoggerContext;
import org.apache.logging.slf4j.Log4jLoggerFactory;
import org.apache.spark.api.python.PythonWorkerFactory;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryListenerBus;
import org.slf4j.LoggerFactory;

/**
 * Ends what Spark leaves behind when a query with state has ended.
 *
 * <p>The plan of one with stateful Python operators is made with the help of a Python process,
 * by a factory of workers of its own. The process ends. The thread that looks whether workers
 * of the factory are idle never does; and the selector with which the factory waited for the
 * process is never closed, and with it three descriptors. Nothing refers to it: so selectors
 * are made here, by Java's own provider, and those of such factories are noted.
 *
 * <p>Each query with state also leaves a listener that hears every event of Spark and tells
 * nobody, and loggers with the query's number in their names.
 */
public final class Leftovers extends SelectorProvider {
  private static final String MONITOR = "Idle Worker Monitor for ";
  private static final String STATE = "StateStoreProviderId[";
  private static final Queue<AbstractSelector> NOTED = new ConcurrentLinkedQueue<>();
  private static final StackWalker WALKER = StackWalker.getInstance();

  private final SelectorProvider java;

  public Leftovers() throws ReflectiveOperationException {
    Method get = Class.forName("sun.nio.ch.DefaultSelectorProvider").getMethod("get");
    get.setAccessible(true);
    java = (SelectorProvider) get.invoke(null);
  }

  /** Ends what is left of queries that have started. */
  public static void end(SparkSession session) throws ReflectiveOperationException, IOException {
    closeSelectors();
    endMonitors();
    removeListeners(session);
    forgetLoggers();
  }

  private static void closeSelectors() throws IOException {
    for (AbstractSelector selector : NOTED) {
      if (isDone(selector)) {
        NOTED.remove(selector);
        selector.close();
      }
    }
  }

  private static void endMonitors() throws ReflectiveOperationException {
    for (Thread thread : threads()) {
      if (thread != null && thread.getName().startsWith(MONITOR) && isForgotten(thread)) {
        // It ends by an exception, which is no news to anybody.
        thread.setUncaughtExceptionHandler((interrupted, by) -> {});
        thread.interrupt();
      }
    }
  }

  /** A query runs on a copy of its session, and tells what happens to the session's own. */
  private static void removeListeners(SparkSession session) throws ReflectiveOperationException {
    Object own = field(session.streams(), "listenerBus");
    LiveListenerBus bus = session.sparkContext().listenerBus();
    for (SparkListenerInterface listener : bus.listeners()) {
      if (listener instanceof StreamingQueryListenerBus && listener != own) {
        bus.removeListener(listener);
      }
    }
  }

  private static void forgetLoggers() {
    if (LoggerFactory.getILoggerFactory() instanceof Log4jLoggerFactory factory) {
      for (LoggerContext context : factory.getLoggerContexts()) {
        // State that is open holds its own: only the names are forgotten.
        factory.getLoggersInContext(context).keySet().removeIf(n -> n.contains(STATE));
      }
    }
  }

  private static Object field(Object of, String name) throws ReflectiveOperationException {
    Field field = of.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(of);
  }

  /** Whether the process has come that it waited for: its listener is closed then. */
  private static boolean isDone(AbstractSelector selector) {
    Set<SelectionKey> keys = selector.keys();
    return !keys.isEmpty() && keys.stream().noneMatch(key -> key.channel().isOpen());
  }

  private static boolean isForgotten(Thread monitor) throws ReflectiveOperationException {
    // One without a daemon keeps no idle workers: there is nothing to watch.
    return !((PythonWorkerFactory) field(monitor, "$outer")).useDaemonEnabled();
  }

  private static Thread[] threads() {
    ThreadGroup group = Thread.currentThread().getThreadGroup();
    while (group.getParent() != null) {
      group = group.getParent();
    }
    Thread[] found = new Thread[2 * group.activeCount() + 16];
    group.enumerate(found);
    return found;
  }

  @Override
  public AbstractSelector openSelector() throws IOException {
    AbstractSelector selector = java.openSelector();
    boolean isOfFactory =
        WALKER.walk(
            frames ->
                frames.limit(5).anyMatch(frame -> frame.getMethodName().equals("createSimpleWorker")));
    if (isOfFactory) {
      NOTED.add(selector);
    }
    return selector;
  }

  @Override
  public DatagramChannel openDatagramChannel() throws IOException {
    return java.openDatagramChannel();
  }

  @Override
  public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
    return java.openDatagramChannel(family);
  }

  @Override
  public Pipe openPipe() throws IOException {
    return java.openPipe();
  }

  @Override
  public ServerSocketChannel openServerSocketChannel() throws IOException {
    return java.openServerSocketChannel();
  }

  @Override
  public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
    return java.openServerSocketChannel(family);
  }

  @Override
  public SocketChannel openSocketChannel() throws IOException {
    return java.openSocketChannel();
  }

  @Override
  public SocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
    return java.openSocketChannel(family);
  }

  @Override
  public Channel inheritedChannel() throws IOException {
    return java.inheritedChannel();
  }
}
