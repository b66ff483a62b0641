// SPDX-License-Identifier: Apache-2.0
#include "core/formats/modelcard.h"

#include "core/base/file.h"
#include "core/formats/cardfields.h"
#include "core/formats/insidefolder.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::formats
{

namespace fs = std::filesystem;

using base::inputError;
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

Result<void> checkFormat(const CardFields& card)
{
    std::string format;
    RETRO_CHECK(card.text("format", format));
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
Result<void> checkNormalisation(const CardFields& input, const ModelCard& card)
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

Result<void> readInput(const json& object, ModelCard& card)
{
    const CardFields input(object, "input");
    RETRO_CHECK(input.text("name", card.inputName));
    RETRO_CHECK(input.word("kind", kInputKinds, card.inputKind));
    RETRO_CHECK(input.word("layout", kLayouts, card.layout));
    RETRO_CHECK(input.word("channels", kChannels, card.channels));
    RETRO_CHECK(input.numbers("scale", std::span<double>(card.scale)));
    RETRO_CHECK(input.numbers("mean", card.mean));
    RETRO_CHECK(input.numbers("std", card.deviation));
    RETRO_CHECK(input.pixels("size", card.size));
    RETRO_CHECK(input.texts("vocabulary", card.vocabulary));
    RETRO_CHECK(input.text("unknown", card.unknown));
    const auto& words = card.vocabulary;
    if (!card.unknown.empty() && std::find(words.begin(), words.end(), card.unknown) == words.end()) {
        return input.error("unknown", fmt::format("'{}' is no word of the vocabulary", card.unknown));
    }
    return checkNormalisation(input, card);
}

/// A box that may be missing: x, y, width, height.
Result<void> readBox(const CardFields& fields, const char* name, std::optional<std::array<int, 4>>& box)
{
    if (fields.has(name)) {
        RETRO_CHECK(fields.pixels(name, box.emplace()));
    }
    return {};
}

Result<CardPicture> readPicture(const json& object, const std::string& path)
{
    if (!object.is_object()) {
        return inputError("it must be an object in braces", "field '" + path + "'");
    }
    const CardFields fields(object, path);
    CardPicture picture;
    RETRO_CHECK(fields.relativePath("file", picture.file));
    RETRO_CHECK(fields.text("true_class", picture.trueClass));
    if (picture.file.empty()) {
        return fields.error("file", "the picture's file is not named");
    }
    RETRO_CHECK(readBox(fields, "tag_box", picture.tagBox));
    RETRO_CHECK(readBox(fields, "object_box", picture.objectBox));
    return picture;
}

Result<void> readPictures(const CardFields& fields, ModelCard& card)
{
    RETRO_TRY(const json* pictures, fields.list("pictures"));
    if (pictures == nullptr) {
        return {};
    }
    for (std::size_t i = 0; i < pictures->size(); ++i) {
        RETRO_TRY(CardPicture picture, readPicture((*pictures)[i], fmt::format("pictures[{}]", i)));
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
                          fmt::format("{}: field '{}'", path.string(), field));
    };
    RETRO_CHECK(check(card.control, "control"));
    for (std::size_t i = 0; i < card.pictures.size(); ++i) {
        RETRO_CHECK(check(card.pictures[i].file, fmt::format("pictures[{}].file", i)));
    }
    return {};
}

Result<ModelCard> cardFrom(const json& parsed)
{
    if (!parsed.is_object()) {
        return inputError("this is not a model card: a card is a JSON object in braces");
    }
    const CardFields fields(parsed, "");
    RETRO_CHECK(checkFormat(fields));
    ModelCard card;
    RETRO_CHECK(fields.relativePath("model", card.model));
    RETRO_CHECK(fields.text("title", card.title));
    RETRO_CHECK(fields.texts("labels", card.labels));
    if (fields.has("scores")) {
        RETRO_CHECK(fields.word("scores", kScores, card.scores));
    }
    RETRO_CHECK(fields.text("composite", card.composite));
    RETRO_CHECK(fields.text("target", card.target));
    RETRO_CHECK(fields.texts("no_rewrite", card.noRewrite));
    RETRO_CHECK(fields.texts("rewrite", card.rewrite));
    RETRO_CHECK(fields.texts("checkpoints", card.checkpoints));
    RETRO_CHECK(fields.flag("stop_at_checkpoints", card.stopsAtCheckpoints));
    RETRO_CHECK(fields.relativePath("control", card.control));
    RETRO_CHECK(fields.texts("not_a_problem", card.notAProblem));
    RETRO_CHECK(readPictures(fields, card));
    RETRO_TRY(const json* input, fields.object("input"));
    card.describesInput = input != nullptr;
    if (input != nullptr) {
        RETRO_CHECK(readInput(*input, card));
    }
    RETRO_TRY(const json* figures, fields.object("figures"));
    if (figures != nullptr) {
        addFigures(*figures, "", card.figures);
    }
    return card;
}

} // namespace

Result<ModelCard> parseCard(const std::string& text, const std::string& where)
{
    RETRO_TRY(const json parsed, parseCardJson(text, where));
    Result<ModelCard> card = cardFrom(parsed);
    return card.ok() ? std::move(card) : base::within(std::move(card).error(), where);
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
    return std::optional(std::move(card));
}

} // namespace retro::formats
