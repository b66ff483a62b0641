// SPDX-License-Identifier: Apache-2.0
#include "app/common/animationfile.h"

#include "app/common/exports.h"
#include "app/common/gifwriter.h"
#include "core/base/file.h"

#include <QBuffer>
#include <QByteArray>
#include <QProcess>
#include <QStandardPaths>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

namespace retro::app
{

namespace
{

using base::Result;

constexpr int kFfmpegPatience = 120'000; // milliseconds

std::string endingOf(const std::filesystem::path& path)
{
    std::string ending = path.extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return ending;
}

/// All pictures of a film are as large as the first.
class SameSize
{
public:
    [[nodiscard]] Result<void> check(const QImage& picture)
    {
        if (m_size.isEmpty()) {
            m_size = picture.size();
        }
        if (picture.size() != m_size || picture.isNull()) {
            return base::usageError("the pictures of an animation must be of one size", "animation");
        }
        return {};
    }
    [[nodiscard]] Result<void> checkAny() const
    {
        return m_size.isEmpty() ? Result<void>(base::usageError("an animation needs at least one picture", "animation"))
                                : Result<void>();
    }

private:
    QSize m_size;
};

std::span<const std::byte> bytesIn(const std::string& text)
{
    return std::as_bytes(std::span(text.data(), text.size()));
}

class GifFile final : public AnimationFile
{
public:
    GifFile(std::filesystem::path path, int framesPerSecond)
        : m_path(std::move(path)), m_writer(std::max(2, static_cast<int>(std::lround(100.0 / framesPerSecond))))
    {}
    Result<void> add(const QImage& picture) override
    {
        RETRO_CHECK(m_size.check(picture));
        m_writer.add(picture);
        return {};
    }
    Result<void> finish() override
    {
        RETRO_CHECK(m_size.checkAny());
        return base::writeFile(m_path, bytesIn(m_writer.take()));
    }

private:
    std::filesystem::path m_path;
    GifWriter m_writer;
    SameSize m_size;
};

void appendWord(std::string& out, std::uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>((number >> static_cast<unsigned>(shift)) & 0xFFU));
    }
}

std::uint32_t wordAt(const QByteArray& bytes, qsizetype at)
{
    std::uint32_t number = 0;
    for (int i = 0; i < 4; ++i) {
        number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
    }
    return number;
}

/// Length, kind, data and checksum of a PNG chunk.
void appendChunk(std::string& out, const char* kind, const std::string& data)
{
    appendWord(out, static_cast<std::uint32_t>(data.size()));
    const std::string body = kind + data;
    out += body;
    appendWord(out, static_cast<std::uint32_t>(
                        crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

/// Every picture is compressed by Qt as a PNG of three channels; the chunks are then put into one file.
class ApngFile final : public AnimationFile
{
public:
    ApngFile(std::filesystem::path path, int framesPerSecond)
        : m_path(std::move(path)), m_framesPerSecond(framesPerSecond)
    {}
    Result<void> add(const QImage& picture) override
    {
        RETRO_CHECK(m_size.check(picture));
        QByteArray png;
        QBuffer buffer(&png);
        if (!buffer.open(QIODevice::WriteOnly) ||
            !picture.convertToFormat(QImage::Format_RGB888).save(&buffer, "PNG")) {
            return base::outputError("a picture of the animation cannot be compressed", m_path.string());
        }
        addControl(picture.size());
        for (qsizetype at = 8; at + 12 <= png.size();) { // behind the signature
            const auto length = static_cast<qsizetype>(wordAt(png, at));
            const QByteArray kind = png.mid(at + 4, 4);
            addChunk(kind, png.mid(at + 8, length).toStdString());
            at += 12 + length;
        }
        ++m_count;
        return {};
    }
    Result<void> finish() override
    {
        RETRO_CHECK(m_size.checkAny());
        std::string file("\x89PNG\r\n\x1A\n", 8);
        appendChunk(file, "IHDR", m_header);
        std::string control;
        appendWord(control, m_count);
        appendWord(control, 0); // for ever
        appendChunk(file, "acTL", control);
        file += m_frames;
        appendChunk(file, "IEND", {});
        return base::writeFile(m_path, bytesIn(file));
    }

private:
    void addControl(const QSize& size)
    {
        std::string control;
        appendWord(control, m_sequence++);
        appendWord(control, static_cast<std::uint32_t>(size.width()));
        appendWord(control, static_cast<std::uint32_t>(size.height()));
        appendWord(control, 0);
        appendWord(control, 0);
        control += {'\0', '\1'};
        control.push_back(static_cast<char>(m_framesPerSecond >> 8));
        control.push_back(static_cast<char>(m_framesPerSecond & 0xFF));
        control += {'\0', '\0'};
        appendChunk(m_frames, "fcTL", control);
    }
    void addChunk(const QByteArray& kind, const std::string& data)
    {
        if (kind == "IHDR") {
            m_header = data;
        } else if (kind == "IDAT" && m_count == 0) {
            appendChunk(m_frames, "IDAT", data);
        } else if (kind == "IDAT") {
            std::string numbered;
            appendWord(numbered, m_sequence++);
            appendChunk(m_frames, "fdAT", numbered + data);
        }
    }

    std::filesystem::path m_path;
    int m_framesPerSecond;
    SameSize m_size;
    std::string m_header;
    std::string m_frames;
    std::uint32_t m_count = 0;
    std::uint32_t m_sequence = 0;
};

class PictureFolder final : public AnimationFile
{
public:
    PictureFolder(std::filesystem::path path, std::string stem) : m_path(std::move(path)), m_stem(std::move(stem)) {}
    Result<void> add(const QImage& picture) override
    {
        RETRO_CHECK(m_size.check(picture));
        QByteArray png;
        QBuffer buffer(&png);
        if (!buffer.open(QIODevice::WriteOnly) || !picture.save(&buffer, "PNG")) {
            return base::outputError("a picture of the animation cannot be compressed", m_path.string());
        }
        return base::writeFile(m_path / fmt::format("{}-{:05}.png", m_stem, ++m_count), bytesIn(png.toStdString()));
    }
    Result<void> finish() override { return m_size.checkAny(); }

private:
    std::filesystem::path m_path;
    std::string m_stem;
    SameSize m_size;
    int m_count = 0;
};

/// ffmpeg reads raw pictures from its input.
class FfmpegFile final : public AnimationFile
{
public:
    FfmpegFile(std::filesystem::path path, int framesPerSecond)
        : m_path(std::move(path)), m_part(m_path), m_framesPerSecond(framesPerSecond)
    {
        m_part.replace_extension(".part" + m_path.extension().string());
    }
    ~FfmpegFile() override
    {
        if (m_process.state() != QProcess::NotRunning) {
            m_process.kill();
            m_process.waitForFinished();
        }
        std::error_code ignored;
        std::filesystem::remove(m_part, ignored);
    }
    Result<void> add(const QImage& picture) override
    {
        RETRO_CHECK(m_size.check(picture));
        if (m_process.state() == QProcess::NotRunning) {
            RETRO_CHECK(start(picture.size()));
        }
        const QImage rgb = picture.convertToFormat(QImage::Format_RGB888);
        for (int y = 0; y < rgb.height(); ++y) {
            m_process.write(reinterpret_cast<const char*>(rgb.constScanLine(y)), qsizetype{3} * rgb.width());
        }
        while (m_process.bytesToWrite() > 0) {
            if (!m_process.waitForBytesWritten(kFfmpegPatience)) {
                return failed();
            }
        }
        return {};
    }
    Result<void> finish() override
    {
        RETRO_CHECK(m_size.checkAny());
        m_process.closeWriteChannel();
        if (!m_process.waitForFinished(kFfmpegPatience) || m_process.exitCode() != 0) {
            return failed();
        }
        std::error_code error;
        std::filesystem::rename(m_part, m_path, error);
        return error ? Result<void>(base::outputError("the film cannot be put in its place: " + error.message(),
                                                      m_path.string()))
                     : Result<void>();
    }

private:
    Result<void> start(const QSize& size)
    {
        QStringList arguments{QStringLiteral("-y"),
                              QStringLiteral("-loglevel"),
                              QStringLiteral("error"),
                              QStringLiteral("-f"),
                              QStringLiteral("rawvideo"),
                              QStringLiteral("-pix_fmt"),
                              QStringLiteral("rgb24"),
                              QStringLiteral("-s"),
                              QStringLiteral("%1x%2").arg(size.width()).arg(size.height()),
                              QStringLiteral("-r"),
                              QString::number(m_framesPerSecond),
                              QStringLiteral("-i"),
                              QStringLiteral("-"),
                              QStringLiteral("-vf"),
                              QStringLiteral("crop=trunc(iw/2)*2:trunc(ih/2)*2"),
                              QStringLiteral("-pix_fmt"),
                              QStringLiteral("yuv420p")};
        arguments << QString::fromStdString(m_part.string());
        m_process.start(QStringLiteral("ffmpeg"), arguments);
        return m_process.waitForStarted() ? Result<void>() : failed();
    }
    [[nodiscard]] Result<void> failed()
    {
        const std::string said = QString::fromUtf8(m_process.readAllStandardError()).trimmed().toStdString();
        return base::outputError("ffmpeg did not write the film" + (said.empty() ? "" : ": " + said), m_path.string());
    }

    std::filesystem::path m_path;
    std::filesystem::path m_part;
    int m_framesPerSecond;
    SameSize m_size;
    QProcess m_process;
};

} // namespace

Result<std::unique_ptr<AnimationFile>> AnimationFile::open(const std::filesystem::path& path, int framesPerSecond,
                                                           const std::string& stem)
{
    using Pointer = std::unique_ptr<AnimationFile>;
    const std::string ending = endingOf(path);
    if (ending == ".gif") {
        return Pointer(std::make_unique<GifFile>(path, framesPerSecond));
    }
    if (ending == ".apng") {
        return Pointer(std::make_unique<ApngFile>(path, framesPerSecond));
    }
    if (ending == ".mp4" || ending == ".webm") {
        if (QStandardPaths::findExecutable(QStringLiteral("ffmpeg")).isEmpty()) {
            return base::usageError("for " + ending +
                                        " ffmpeg must be installed (apt install ffmpeg); .gif and .apng need nothing",
                                    path.string());
        }
        return Pointer(std::make_unique<FfmpegFile>(path, framesPerSecond));
    }
    if (!ending.empty()) {
        return base::usageError(fmt::format("an animation is written as .{}, or as pictures into a folder",
                                            fmt::join(wordsOf(kFilmEndings), ", .")),
                                path.string());
    }
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
        return base::outputError("the folder for the pictures cannot be made: " + error.message(), path.string());
    }
    return Pointer(std::make_unique<PictureFolder>(path, stem));
}

} // namespace retro::app
