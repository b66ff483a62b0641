// SPDX-License-Identifier: Apache-2.0
#include "app/cli/onnxruntimepeer.h"

#include "core/base/file.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX leaves it to the user

namespace retro::app
{

using base::Result;

namespace
{

constexpr int kAbsent = 77;
constexpr const char* kScript = R"(
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 3
def made(file):
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
def value(array, kind):
    if "bfloat16" not in kind:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = (array.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16) # numpy has no such type
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
try:
    session = made(asked["file"])
except Exception as error:
    said = str(error).strip().splitlines()[-1]
    try:
        made(asked["model"])
    except Exception: # operators in types of this model are missing there
        print("it does not run this model itself: " + said, file=sys.stderr)
        sys.exit(77)
    print(said, file=sys.stderr)
    sys.exit(1)
try:
    types = {one.name: one.type for one in session.get_inputs()}
    given = {name: value(numpy.load(folder / f"in{i}.npy"), types[name]) for i, name in enumerate(asked["inputs"])}
    for i, found in enumerate(session.run_with_ort_values(asked["outputs"], given)):
        numpy.save(folder / f"out{i}.npy", found.numpy())
except Exception as error:
    print(str(error).strip().splitlines()[-1], file=sys.stderr)
    sys.exit(1)
(folder / "version").write_text(onnxruntime.__version__, encoding="utf-8")
)";

/// A folder of its own among the temporary files; gone at the end.
class Folder
{
public:
    Folder()
    {
        std::error_code unknown;
        std::string name = (std::filesystem::temp_directory_path(unknown) / "retrograde-peer-XXXXXX").string();
        if (!unknown && mkdtemp(name.data()) != nullptr) {
            m_path = name;
        }
    }
    ~Folder()
    {
        std::error_code ignored;
        if (!m_path.empty()) {
            std::filesystem::remove_all(m_path, ignored);
        }
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

std::string textIn(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.pop_back();
    }
    return text;
}

/// The exit code of Python on the script; nothing where it could not be started or was ended by a signal.
std::optional<int> runPython(const std::filesystem::path& folder)
{
    const char* chosen = std::getenv("RETROGRADE_PYTHON");
    std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
    std::string script = kScript;
    std::string place = folder.string();
    std::string flag = "-c";
    const std::array<char*, 5> arguments{python.data(), flag.data(), script.data(), place.data(), nullptr};
    const std::string said = (folder / "said").string();
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t process = 0;
    const bool isStarted = posix_spawnp(&process, python.c_str(), &files, nullptr, arguments.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    int status = 0;
    if (!isStarted || waitpid(process, &status, 0) != process || !WIFEXITED(status)) {
        return std::nullopt;
    }
    return WEXITSTATUS(status);
}

} // namespace

Result<PeerRun> runInOnnxruntime(const std::filesystem::path& file, const std::filesystem::path& model,
                                 const std::vector<std::string>& inputNames, const std::vector<tensor::Tensor>& inputs,
                                 const std::vector<std::string>& outputs)
{
    const Folder folder;
    if (folder.path().empty()) {
        return base::outputError("no temporary folder can be made", "--check");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        RETRO_CHECK(tensor::writeNpy(folder.path() / fmt::format("in{}.npy", i), inputs[i]));
    }
    const nlohmann::ordered_json asked{{"file", std::filesystem::absolute(file).string()},
                                       {"model", std::filesystem::absolute(model).string()},
                                       {"inputs", inputNames},
                                       {"outputs", outputs}};
    RETRO_CHECK(base::writeFile(folder.path() / "asked.json", asked.dump()));
    const std::optional<int> code = runPython(folder.path());
    PeerRun run;
    const std::string said = textIn(folder.path() / "said");
    if (!code || *code == kAbsent || *code == 127) {
        run.absent = said.empty() ? "python3 could not be started" : said;
        return run;
    }
    if (*code != 0) {
        return base::engineError("onnxruntime refuses the graph that was written: " + said, file.string());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        RETRO_TRY(tensor::Tensor found, tensor::readNpy(folder.path() / fmt::format("out{}.npy", i)));
        run.outputs.push_back(std::move(found));
    }
    run.version = textIn(folder.path() / "version");
    return run;
}

} // namespace retro::app
