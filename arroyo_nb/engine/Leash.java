package arroyo_nb;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Arrays;

/**
 * Runs the main method of another class for as long as standard input is open.
 *
 * <p>The process that started this one holds the other end of that pipe, which closes when
 * it is gone, also by kill -9: nothing else would end a program that serves for ever.
 */
public final class Leash {
  private Leash() {}

  /** The name of a class, then its arguments. */
  public static void main(String[] arguments) throws Exception {
    Thread watch = new Thread(Leash::haltAtEnd, "leash");
    watch.setDaemon(true);
    watch.start();
    Method main = Class.forName(arguments[0]).getMethod("main", String[].class);
    main.invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
  }

  private static void haltAtEnd() {
    try {
      while (System.in.read() >= 0) {
        // Nobody says anything here.
      }
    } catch (IOException closed) {
      // As good as the end.
    }
    Runtime.getRuntime().halt(1);
  }
}
