// SPDX-License-Identifier: Apache-2.0
#include "core/formats/modelcard.h"

#include "core/base/file.h"
#include "core/base/jsonfields.h"
#include "core/formats/cardwriter.h"
#include "core/formats/insidefolder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace retro::formats
{

namespace fs = std::filesystem;

using base::inputError;
using base::JsonFields;
using base::JsonText;
using base::Result;
using nlohmann::json;

namespace
{

constexpr std::string_view kFormatName = "retrograde-card/";
constexpr std::string_view kFormat = "retrograde-card/1";
constexpr std::array<std::string_view, 2> kInputKinds{"image", "array"};
constexpr std::array<std::string_view, 4> kLayouts{"NCHW", "NHWC", "NTC", "NT"};
constexpr std::array<std::string_view, 3> kScores{"logits", "probabilities", "numbers"};
constexpr std::array<std::string_view, 3> kChannels{"RGB", "BGR", "GRAY"};

/// Deepest nesting in a card.
constexpr std::size_t kMaxCardDepth = 16;
constexpr int kMaxPixels = 65536;

/// A path that does not leave the card's folder: not absolute, without "..".
Result<std::string> readPath(const JsonFields& fields, std::string_view name)
{
    RETRO_TRY(std::string path, fields.text(name));
    if (fs::path(path).is_absolute()) {
        return fields.error(name, fmt::format("'{}' is an absolute path; paths are relative to the card", path));
    }
    if (leavesFolder(path)) {
        return fields.error(name, fmt::format("the path '{}' is not inside the card's folder; only files beside or "
                                              "below the card are read",
                                              path));
    }
    return path;
}

/// Exactly `target.size()` numbers.
Result<void> readNumbers(const JsonFields& fields, std::string_view name, std::span<double> target)
{
    RETRO_TRY(const std::vector<double> read, fields.numbers(name, {target.begin(), target.end()}));
    if (read.size() != target.size()) {
        return fields.error(name, fmt::format("it must have {} numbers but has {}", target.size(), read.size()));
    }
    std::copy(read.begin(), read.end(), target.begin());
    return {};
}

/// Exactly `target.size()` whole numbers from 0 to 65536.
Result<void> readPixels(const JsonFields& fields, std::string_view name, std::span<int> target)
{
    std::vector<double> read(target.begin(), target.end());
    RETRO_CHECK(readNumbers(fields, name, read));
    for (std::size_t i = 0; i < read.size(); ++i) {
        const bool isPixel = read[i] >= 0 && read[i] <= kMaxPixels;
        const int whole = isPixel ? static_cast<int>(read[i]) : -1;
        if (whole < 0 || static_cast<double>(whole) != read[i]) {
            return fields.error(name,
                                fmt::format("{} is not a whole number of pixels from 0 to {}", read[i], kMaxPixels));
        }
        target[i] = whole;
    }
    return {};
}

Result<void> checkCardFormat(const JsonFields& card)
{
    RETRO_TRY(const std::string format, card.text("format"));
    if (format == kFormat) {
        return {};
    }
    if (format.starts_with(kFormatName)) {
        return card.error("format", fmt::format("the card has the format '{}', which is newer than this program; it "
                                                "reads '{}'",
                                                format, kFormat));
    }
    return card.error("format", fmt::format("this is not a model card: it must say \"format\": \"{}\"", kFormat));
}

/// Mean and deviation: none, one for all channels, or one per channel; deviations above zero.
Result<void> checkNormalisation(const JsonFields& input, const ModelCard& card)
{
    const std::size_t channels = card.channels == "GRAY" ? 1 : 3;
    const auto fits = [&](std::size_t count) { return card.inputKind == "array" || count <= 1 || count == channels; };
    if (!fits(card.mean.size())) {
        return input.error("mean", fmt::format("it has {} numbers for {} channels", card.mean.size(), channels));
    }
    if (!fits(card.deviation.size())) {
        return input.error("std", fmt::format("it has {} numbers for {} channels", card.deviation.size(), channels));
    }
    if (std::any_of(card.deviation.begin(), card.deviation.end(), [](double d) { return !(d > 0); })) {
        return input.error("std", "pixels are divided by it, so every number must be above 0");
    }
    return {};
}

Result<void> readInput(const JsonFields& input, ModelCard& card)
{
    RETRO_TRY(card.inputName, input.text("name"));
    RETRO_TRY(card.inputKind, input.word("kind", kInputKinds, card.inputKind));
    RETRO_TRY(card.layout, input.word("layout", kLayouts, card.layout));
    RETRO_TRY(card.channels, input.word("channels", kChannels, card.channels));
    if (input.has("frame")) {
        RETRO_TRY(card.frame, input.text("frame"));
        if (!isFrame(card.frame)) {
            return input.error("frame", fmt::format("'{}' is none of {}", card.frame, kFrames));
        }
    }
    RETRO_CHECK(readNumbers(input, "scale", card.scale));
    RETRO_TRY(card.mean, input.numbers("mean"));
    RETRO_TRY(card.deviation, input.numbers("std"));
    RETRO_CHECK(readPixels(input, "size", card.size));
    RETRO_TRY(card.vocabulary, input.texts("vocabulary"));
    RETRO_TRY(const std::vector<std::string> features, input.texts("features"));
    if (!features.empty() && !card.vocabulary.empty()) {
        return input.error("features", "a model of tokens has a vocabulary, a model of rows of numbers has features");
    }
    card.vocabulary = features.empty() ? card.vocabulary : features; // one list: the input says which it is
    RETRO_TRY(card.unknown, input.text("unknown"));
    const auto& words = card.vocabulary;
    if (!card.unknown.empty() && std::find(words.begin(), words.end(), card.unknown) == words.end()) {
        return input.error("unknown", fmt::format("'{}' is no word of the vocabulary", card.unknown));
    }
    return checkNormalisation(input, card);
}

/// A box that may be missing: x, y, width, height.
Result<void> readBox(const JsonFields& fields, const char* name, std::optional<std::array<int, 4>>& box)
{
    if (fields.has(name)) {
        RETRO_CHECK(readPixels(fields, name, box.emplace()));
    }
    return {};
}

Result<CardPicture> readPicture(const JsonFields& fields)
{
    CardPicture picture;
    RETRO_TRY(picture.file, readPath(fields, "file"));
    RETRO_TRY(picture.trueClass, fields.text("true_class"));
    if (picture.file.empty()) {
        return fields.error("file", "the picture's file is not named");
    }
    RETRO_CHECK(readBox(fields, "tag_box", picture.tagBox));
    RETRO_CHECK(readBox(fields, "object_box", picture.objectBox));
    return picture;
}

Result<void> readPictures(const JsonFields& fields, ModelCard& card)
{
    RETRO_TRY(const json* pictures, fields.list("pictures"));
    for (std::size_t i = 0; pictures != nullptr && i < pictures->size(); ++i) {
        RETRO_TRY(const JsonFields item, fields.item("pictures", i));
        RETRO_TRY(CardPicture picture, readPicture(item));
        card.pictures.push_back(std::move(picture));
    }
    return {};
}

/// Numbers stay under their name, numbers inside an object under "name.member"; anything else is for people only.
void addFigures(const json& object, const std::string& prefix, std::map<std::string, double>& figures)
{
    for (const auto& [name, figure] : object.items()) {
        if (figure.is_number()) {
            figures[prefix + name] = figure.get<double>();
        } else if (figure.is_object()) {
            addFigures(figure, prefix + name + ".", figures);
        }
    }
}

/// Files that a card names and that are there are no links to places outside its folder.
Result<void> checkLinks(const ModelCard& card, const fs::path& path)
{
    const auto check = [&](const std::string& file, const std::string& field) -> Result<void> {
        std::error_code ec;
        if (file.empty() || !fs::exists(path.parent_path() / file, ec) || isInsideFolder(file, path.parent_path())) {
            return {};
        }
        return inputError(fmt::format("the file '{}' is a link to a place outside the card's folder; copy the file "
                                      "there instead",
                                      file),
                          fmt::format("{}, field {}", path.string(), field));
    };
    RETRO_CHECK(check(card.control, "control"));
    for (std::size_t i = 0; i < card.pictures.size(); ++i) {
        RETRO_CHECK(check(card.pictures[i].file, fmt::format("pictures[{}].file", i)));
    }
    return {};
}

Result<ModelCard> cardFrom(const JsonText& text)
{
    if (!text.root().is_object()) {
        return text.error("", "this is not a model card: a card is a JSON object in braces");
    }
    RETRO_TRY(const JsonFields fields, JsonFields::of(text, text.root(), ""));
    RETRO_CHECK(checkCardFormat(fields));
    ModelCard card;
    RETRO_TRY(card.model, readPath(fields, "model"));
    RETRO_TRY(card.title, fields.text("title"));
    RETRO_TRY(card.labels, fields.texts("labels"));
    if (fields.has("scores")) {
        RETRO_TRY(card.scores, fields.word("scores", kScores, card.scores));
    }
    RETRO_TRY(card.composite, fields.text("composite"));
    RETRO_TRY(card.target, fields.text("target"));
    RETRO_TRY(card.noRewrite, fields.texts("no_rewrite"));
    RETRO_TRY(card.rewrite, fields.texts("rewrite"));
    RETRO_TRY(card.checkpoints, fields.texts("checkpoints"));
    RETRO_TRY(card.stopsAtCheckpoints, fields.flag("stop_at_checkpoints", card.stopsAtCheckpoints));
    RETRO_TRY(card.control, readPath(fields, "control"));
    RETRO_TRY(card.notAProblem, fields.texts("not_a_problem"));
    RETRO_CHECK(readPictures(fields, card));
    RETRO_TRY(const auto input, fields.object("input"));
    card.describesInput = false;
    if (input) {
        RETRO_CHECK(readInput(*input, card));
        static constexpr std::array kNumbers{"scale", "mean", "std"};
        card.describesInput = card.inputKind == "array" ||
                              std::ranges::any_of(kNumbers, [&](const char* name) { return input->has(name); });
    }
    RETRO_TRY(const auto figures, fields.object("figures"));
    if (figures) {
        addFigures(figures->members(), "", card.figures);
    }
    return card;
}

} // namespace

std::optional<double> croppedPart(std::string_view frame)
{
    if (frame == kCrop) {
        return 1;
    }
    const bool saysPart = frame.size() > kCrop.size() && frame.starts_with(kCrop) && frame[kCrop.size()] == '=';
    const std::string_view text = saysPart ? frame.substr(kCrop.size() + 1) : std::string_view();
    double part = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), part);
    const bool isPart = saysPart && read.ec == std::errc() && read.ptr == text.data() + text.size();
    return isPart && part > 0 && part <= 1 ? std::optional(part) : std::nullopt;
}

bool isFrame(std::string_view frame)
{
    return frame == kStretch || frame == kLetterbox || croppedPart(frame).has_value();
}

Result<ModelCard> parseCard(const std::string& text, const std::string& where)
{
    RETRO_TRY(const JsonText parsed, JsonText::parse(text, where, {kMaxCardBytes, kMaxCardDepth}));
    return cardFrom(parsed);
}

Result<ModelCard> readCard(const fs::path& path)
{
    RETRO_TRY(const std::string text, base::readTextFile(path, kMaxCardBytes));
    return parseCard(text, path.string());
}

Result<std::optional<ModelCard>> cardOf(const fs::path& model)
{
    const fs::path path = fs::path(model).replace_extension("card.json");
    std::error_code ec;
    if (!fs::exists(path, ec)) {
        return std::optional<ModelCard>();
    }
    RETRO_TRY(ModelCard card, readCard(path));
    RETRO_CHECK(checkLinks(card, path));
    card.file = path;
    return std::optional(std::move(card));
}

} // namespace retro::formats
