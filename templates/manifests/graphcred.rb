class Graphcred < Formula
  desc "Credentials of a TigerGraph database: secrets, tokens and a keychain"
  homepage "{{repository}}"
  version "{{version}}"
  license "{{license}}"

  on_macos do
    on_arm do
      url "{{url graphcred-darwin-arm64}}"
      sha256 "{{sha256 graphcred-darwin-arm64}}"
    end
    on_intel do
      url "{{url graphcred-darwin-x64}}"
      sha256 "{{sha256 graphcred-darwin-x64}}"
    end
  end

  on_linux do
    on_arm do
      url "{{url graphcred-linux-arm64}}"
      sha256 "{{sha256 graphcred-linux-arm64}}"
    end
    on_intel do
      url "{{url graphcred-linux-x64}}"
      sha256 "{{sha256 graphcred-linux-x64}}"
    end
  end

  def install
    bin.install Dir["graphcred-*"].first => "graphcred"
    generate_completions_from_executable(bin/"graphcred", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/graphcred --version")
  end
end
