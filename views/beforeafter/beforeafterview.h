// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/beforeafter/runpair.h"
#include "views/common/view.h"

#include <memory>

class QComboBox;
class QLabel;
class QTableWidget;
class QToolButton;

namespace retro::views
{

class PairCanvas;

/// What a change did: the run before and the run after beside each other with their difference in one scale, class
/// scores and ledger as deltas, and a sentence that says what was changed. Every run that comes is kept for a while;
/// any two of them can be the pair.
class BeforeAfterView final : public View
{
    Q_OBJECT

public:
    /// Runs that are kept; the oldest goes first, as do those beyond kMostBytes.
    static constexpr std::size_t kMostRuns = 8;
    static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

    BeforeAfterView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);
    ~BeforeAfterView() override;

    [[nodiscard]] QString title() const override { return tr("Before and after"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] bool canBeWritten() const override { return m_runs.size() >= 2; }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    /// Keeps a run. One that was made while a person paints (`isLive`) takes the place of the live one before it, so
    /// that A stays what it was.
    void addRun(RunHandle run, InputInfo input, bool isLive);
    /// Forgets every run.
    void clear();
    [[nodiscard]] std::size_t runCount() const { return m_runs.size(); }
    /// Chooses the pair by the numbers of the runs, the oldest first.
    void choosePair(std::size_t before, std::size_t after);
    [[nodiscard]] const RunPair& pair() const;
    /// What stands above the pictures.
    [[nodiscard]] QString sentence() const;

signals:
    /// B is to be asked what A was: a target as --target takes it, and where its relevance starts.
    void questionWanted(const QString& target, const QString& start);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    [[nodiscard]] std::string csv() const;
    struct Kept;
    QWidget* makeChoices(QWidget* parent);
    void showChoices();
    [[nodiscard]] std::size_t beforeOfLast() const;
    [[nodiscard]] bool canAskTheSame() const;
    void compute();
    void fillTables();
    void prune();

    std::vector<std::unique_ptr<Kept>> m_runs; ///< the oldest first
    std::size_t m_before = 0;
    std::size_t m_after = 0;
    int m_number = 0;     ///< of the run that came last
    bool m_isDue = false; ///< the pair is to be compared anew
    QString m_value;      ///< whose relevance is compared; empty = of the input
    QComboBox* m_a = nullptr;
    QComboBox* m_b = nullptr;
    QLabel* m_sentence = nullptr;
    QToolButton* m_askTheSame = nullptr;
    PairCanvas* m_canvas = nullptr;
    QTableWidget* m_classes = nullptr;
    QTableWidget* m_ledger = nullptr;
};

} // namespace retro::views
