package arroyo_nb;

import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Local files of a notebook's Spark, without a process for each.
 *
 * <p>Hadoop sets the mode of every file that it creates by running {@code chmod}, and
 * writes a checksum beside it: of a micro-batch's checkpoint files this is a third of
 * the batch. The process's umask decides on modes here, and no checksum is written; one that is there is still looked at.
 */
public final class LocalFiles extends LocalFileSystem {
  /** What {@code spark.hadoop.fs.file.impl} makes. */
  public LocalFiles() {
    super(new Raw());
    setWriteChecksum(false);
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) {
      // The umask has decided.
    }
  }
}
