// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/resultkey.h"

#include "core/base/file.h"
#include "core/base/hash128.h"
#include "core/base/inputfiles.h"
#include "core/base/jsontext.h"
#include "core/base/outputplace.h"
#include "core/base/record.h"
#include "core/base/visibletext.h"
#include "core/engine/input/inputs.h"
#include "core/engine/question/resolve.h"
#include "core/graph/contentdigest.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/composite/ruleoverride.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace retro::engine
{

namespace fs = std::filesystem;

namespace
{

using base::Hasher128;
using nlohmann::ordered_json;

/// Largest file named by a question that is read for its key.
constexpr std::uint64_t kMostFileBytes = 16ULL << 30U;

void add(Hasher128& hash, const std::vector<std::string>& texts)
{
    hash.number(texts.size());
    for (const std::string& text : texts) {
        hash.text(text);
    }
}

/// Rules are matched by names and scopes, and files are called after values.
void addNames(Hasher128& hash, const graph::Graph& graph)
{
    for (const graph::Value& value : graph.values()) {
        hash.text(value.name);
    }
    for (const graph::Node& node : graph.nodes()) {
        hash.text(node.name);
        hash.text(node.scope);
    }
}

void addModel(Hasher128& hash, const LoadedModel& model)
{
    hash.text(model.name);
    hash.text(graph::stampedDigest(model.rewritten.before));
    hash.number(graph::structuralHash(*model.graph()));
    addNames(hash, *model.rewritten.before);
    addNames(hash, *model.graph());
    add(hash, rewrite::switchedOff(model.rewritten.options));
    add(hash, rewrite::switchedOn(model.rewritten.options));
    hash.number(model.rewritten.options.keepDigits ? 1 : 0);
    hash.number(model.rewritten.options.passThrough ? 1 : 0);
    if (!model.shapes.empty()) {
        add(hash, model.shapes);
    }
    if (model.card) {
        add(hash, model.card->labels);
        add(hash, model.card->vocabulary);
        hash.text(model.card->unknown);
    }
}

/// The content of the file that a text names; one that cannot be read is told apart from every other one: the pass says
/// what is wrong with it. A file may stand behind an equals sign: `INPUT=MASK.npy`, `VALUE:mask=FILE.npy`.
void addContent(Hasher128& hash, const std::string& file)
{
    base::Result<std::vector<std::byte>> data = base::readFile(file, kMostFileBytes);
    if (const std::size_t sign = file.rfind('='); !data.ok() && sign != std::string::npos) {
        data = base::readFile(file.substr(sign + 1), kMostFileBytes);
    }
    hash.number(data.ok() ? data->size() + 1 : 0);
    hash.bytes(data.ok() ? std::span<const std::byte>(*data) : std::span<const std::byte>());
}

/// A field that says nothing adds nothing: a question is the same before and after there is such a field.
void addField(Hasher128& hash, const QuestionField& field, const Question& question)
{
    const std::vector<std::string> texts = textsOf(field, question);
    if (texts.empty() || field.key == KeyPart::None) {
        return;
    }
    hash.text(field.name);
    hash.number(texts.size());
    for (const std::string& text : texts) {
        hash.text(field.key == KeyPart::FileName ? fs::path(text).filename().string() : text);
        if (field.key == KeyPart::Content) {
            addContent(hash, lrp::splitSpecification(text).base);
        }
    }
}

SourceStamp stampOf(const std::string& source)
{
    std::error_code error;
    const fs::path path = fs::weakly_canonical(source, error);
    const std::uintmax_t bytes = error ? 0 : fs::file_size(path, error);
    const fs::file_time_type changed = error ? fs::file_time_type() : fs::last_write_time(path, error);
    if (error) {
        return {source, -1, -1};
    }
    const auto since1970 = std::chrono::file_clock::to_sys(changed).time_since_epoch();
    return {path.string(), static_cast<std::int64_t>(bytes),
            std::chrono::duration_cast<std::chrono::nanoseconds>(since1970).count()};
}

ordered_json sourcesJson(const std::vector<SourceStamp>& stamps)
{
    return base::listOf(stamps, [&](const SourceStamp& stamp) -> ordered_json {
        return {{"source", base::visibleText(stamp.source)}, {"bytes", stamp.bytes}, {"modified", stamp.modified}};
    });
}

/// The result in a file; null when there is none, or when it is no such file.
ordered_json readResult(const fs::path& file)
{
    constexpr std::size_t kMostBytes = 64U << 20U;
    const base::OwnResultsScope own;
    const base::Result<std::string> text = base::readTextFile(file, kMostBytes);
    if (!text || !base::JsonText::parse(*text, file.string(), {kMostBytes})) {
        return {};
    }
    // It is within the limits of the one reader; here it is read for the order of its members.
    return ordered_json::parse(*text, nullptr, false);
}

constexpr const char* kFiles = "files";

/// Files that a result lists, below its folder; names that lead out of it are passed over.
std::vector<fs::path> listedFiles(const ordered_json& result, const fs::path& folder)
{
    std::vector<fs::path> files;
    const auto listed = result.is_object() ? result.find(kFiles) : result.end();
    if (listed == result.end() || !listed->is_array()) {
        return files;
    }
    for (const ordered_json& name : *listed) {
        const fs::path own = name.is_string() ? fs::path(name.get<std::string>()) : fs::path();
        const bool isBelow = own.is_relative() && std::ranges::find(own, fs::path("..")) == own.end();
        if (isBelow && own.extension() == ".npy") {
            files.push_back(folder / own);
        }
    }
    return files;
}

} // namespace

std::string resultHash(const LoadedModel& model, const Question& question, Verb verb)
{
    Hasher128 hash;
    addModel(hash, model);
    const Question asked = completed(question, model.card ? &*model.card : nullptr);
    for (const QuestionField& field : questionFields()) {
        if ((field.verbs & verb) != 0 || field.verbs == 0) {
            addField(hash, field, asked);
        }
    }
    hash.number(static_cast<std::uint64_t>(precisionOf(asked, model)));
    return hash.digest();
}

std::string hashWith(const std::string& result, std::span<const std::string> words)
{
    Hasher128 hash;
    hash.text(result);
    hash.number(words.size());
    for (const std::string& word : words) {
        hash.text(word);
    }
    return hash.digest();
}

std::vector<SourceStamp> sourceStamps(const std::vector<std::string>& texts, const graph::Graph& graph)
{
    std::vector<SourceStamp> stamps;
    for (const std::string& text : texts) {
        const InputSource input = parseInput(text, graph);
        stamps.push_back(stampOf(input.source));
        stamps.back().source.insert(0, input.name.empty() ? std::string() : input.name + "=");
    }
    return stamps;
}

void addKey(const ResultKey& key, ordered_json& result)
{
    result["question"] = key.hash;
    if (!key.sources.empty()) {
        result["sources"] = sourcesJson(key.sources);
    }
}

bool answers(const ordered_json& result, const ResultKey& key)
{
    const auto question = result.find("question"); // the end of what is no object, too
    return question != result.end() && question->is_string() && question->get<std::string>() == key.hash &&
           result.value("sources", ordered_json::array()) == sourcesJson(key.sources);
}

ordered_json storedResult(const fs::path& file, const ResultKey& key)
{
    const ordered_json result = readResult(file);
    return answers(result, key) ? result : ordered_json();
}

void listFiles(const std::vector<fs::path>& files, const fs::path& folder, ordered_json& result)
{
    ordered_json& listed = result[kFiles] = ordered_json::array();
    for (const fs::path& file : files) {
        listed.push_back(file.lexically_relative(folder).generic_string());
    }
}

base::Result<void> removeResult(const fs::path& file)
{
    RETRO_CHECK(base::checkOutputPlace(file));
    std::error_code error;
    for (const fs::path& own : listedFiles(readResult(file), file.parent_path())) {
        if (base::checkOutputPlace(own).ok()) {
            fs::remove(own, error); // one that stays is written over, or does no harm
        }
    }
    error.clear();
    fs::remove(file, error); // none is no error
    return error ? base::Result<void>(base::outputError("it cannot be removed: " + error.message(), file.string()))
                 : base::Result<void>();
}

} // namespace retro::engine
