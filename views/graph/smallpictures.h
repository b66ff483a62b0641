// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/graph/graphcards.h"

#include <QObject>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace retro::views
{

class JobRunner;

/// A tensor of relevance as a picture at most `side` pixels wide and high: channels added up and means of areas; rows
/// of tokens for text; bars for up to twelve numbers, a block for a longer row. Its scale is its own: the 99.9 %
/// quantile of |v|. Null for a tensor without elements. Any thread.
[[nodiscard]] QImage smallPicture(const tensor::Tensor& relevance, int side);

/// Small pictures of the tensors of a run, made off the GUI thread when they are asked for and kept up to 64 MiB, those
/// that were not looked at for longest going first. What is asked for last comes first; what was not asked for in the
/// newest round is dropped before it is made. GUI thread.
class SmallPictures final : public QObject, public CardPictures
{
    Q_OBJECT

public:
    explicit SmallPictures(QObject* parent = nullptr);
    ~SmallPictures() override;

    /// Another run, or null: what is being made is stopped, and nothing of the one before stays.
    void setRun(std::shared_ptr<const trace::Run> run);
    /// Pictures are made at once from now on, as tests and files of pictures want them.
    void setImmediate(bool isImmediate) { m_isImmediate = isImmediate; }
    /// A new round of requests begins: the ones that wait from the round before are dropped.
    void beginRound() { m_wanted.clear(); }
    /// The requests of the round are all there.
    void endRound();

    [[nodiscard]] const QImage* picture(base::HandleId handle, int side) override;
    [[nodiscard]] bool canShow(base::HandleId handle) const override;

    /// True while something that was asked for is not there yet.
    [[nodiscard]] bool isBusy() const;
    [[nodiscard]] std::size_t count() const { return m_made.size(); }
    [[nodiscard]] std::size_t bytes() const { return m_bytes; }

signals:
    /// Some pictures are there that were not.
    void arrived();

private:
    struct Made
    {
        QImage image;
        std::uint64_t used = 0;
    };
    [[nodiscard]] static std::uint64_t keyOf(base::HandleId handle, int side)
    {
        return (std::uint64_t{handle.value} << 32U) | static_cast<std::uint32_t>(side);
    }
    void start();
    void keep(std::uint64_t key, QImage image);

    std::shared_ptr<const trace::Run> m_run;
    JobRunner* m_jobs = nullptr;
    std::unordered_map<std::uint64_t, Made> m_made;
    std::vector<std::uint64_t> m_wanted; // of this round, the most wanted first
    std::size_t m_bytes = 0;
    std::uint64_t m_clock = 0;
    bool m_isImmediate = false;
};

} // namespace retro::views
