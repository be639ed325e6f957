import com.tigergraph.jdbc.Driver;
import java.io.FileWriter;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;
import org.json.JSONObject;

/** Uses the JDBC driver, which mints its own token from a password or a secret, and reads with it. */
class Jdbc {
  interface Action {
    void run() throws Exception;
  }

  static String env(String name) {
    return System.getenv("CLIENT_" + name);
  }

  /** Writes what the driver could do into the file that STEPS names, one JSON line for each step. */
  static void step(String name, Action action) throws Exception {
    Object error = JSONObject.NULL;
    try {
      action.run();
    } catch (Exception problem) {
      error = problem.toString();
    }
    try (FileWriter file = new FileWriter(System.getenv("STEPS"), true)) {
      file.write(new JSONObject().put("step", name).put("error", error) + "\n");
    }
  }

  static void readVertices(String username, String password) throws Exception {
    Properties properties = new Properties();
    properties.put("username", username);
    properties.put("password", password);
    readVertices(properties);
  }

  static void readVertices(Properties properties) throws Exception {
    properties.put("graph", env("GRAPH"));
    properties.put("version", env("SERVER_VERSION"));
    String url = "jdbc:tg:" + env("HOST") + ":" + env("GSQL_PORT");
    try (Connection connection = new Driver().connect(url, properties);
        PreparedStatement query = connection.prepareStatement("get vertex(Person) params(limit=?)")) {
      query.setInt(1, 2);
      int count = 0;
      try (ResultSet rows = query.executeQuery()) {
        while (rows.next()) count++;
      }
      if (count != 2) throw new AssertionError(count + " rows");
    }
  }

  /** Whether the server is of 4.x, or of 3.x with at least this minor version. */
  static boolean isSince(int minor) {
    String[] version = env("SERVER_VERSION").split("\\.");
    return version[0].equals("4") || Integer.parseInt(version[1]) >= minor;
  }

  public static void main(String[] words) throws Exception {
    step("read vertices with a password", () -> readVertices(env("USERNAME"), env("PASSWORD")));
    if (isSince(7))
      step("read vertices with a secret", () -> readVertices("__GSQL__secret", env("SECRET")));
    if (isSince(10))
      step("read vertices with a JWT", () -> {
        Properties properties = new Properties();
        properties.put("token", env("JWT"));
        readVertices(properties);
      });
    step("see that a password is wrong", () -> {
      try {
        readVertices(env("USERNAME"), "wrong");
      } catch (SQLException refused) {
        if (refused.getMessage().startsWith("Failed to execute query")) return;
        throw refused;
      }
      throw new IllegalStateException("not refused");
    });
  }
}
