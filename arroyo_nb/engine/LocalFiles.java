package arroyo_nb;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Local files of a notebook's Spark, without a process for each.
 *
 * <p>Hadoop sets the mode of every file that it creates by running {@code chmod}, and
 * writes a checksum beside it: of a micro-batch's checkpoint files this is a third of
 * the batch. The process's umask decides on modes here, and no checksum is written; one
 * that is there is still looked at.
 *
 * <p>Hadoop's search for the files that fit a pattern fails below a folder with a colon
 * in its name. Spark's streams take every path for a pattern, so what is escaped as a
 * whole is looked up here and not searched for.
 */
public final class LocalFiles extends LocalFileSystem {
  private static final String SPECIAL = "{}[]*?";

  /** What {@code spark.hadoop.fs.file.impl} makes. */
  public LocalFiles() {
    super(new Raw());
    setWriteChecksum(false);
  }

  @Override
  public FileStatus[] globStatus(Path pattern) throws IOException {
    URI uri = pattern.toUri();
    String name = unescaped(uri.getPath());
    if (name == null) {
      return super.globStatus(pattern);
    }
    try {
      Path path = new Path(uri.getScheme(), uri.getAuthority(), name);
      return new FileStatus[] {getFileStatus(path)};
    } catch (FileNotFoundException gone) {
      return new FileStatus[0];
    }
  }

  /** The one name that fits a pattern; null where several may. */
  private static String unescaped(String pattern) {
    StringBuilder name = new StringBuilder();
    for (int at = 0; at < pattern.length(); at++) {
      char letter = pattern.charAt(at);
      if (letter == '\\' && at + 1 < pattern.length()) {
        at++;
        name.append(pattern.charAt(at));
      } else if (SPECIAL.indexOf(letter) >= 0) {
        return null;
      } else {
        name.append(letter);
      }
    }
    return name.toString();
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) {
      // The umask has decided.
    }
  }
}
