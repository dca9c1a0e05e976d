import gzip
import json

import pytest

from keras_elmo import ElmoError
from keras_elmo.tasks import read_conll
from keras_elmo.tasks import read_glue
from keras_elmo.tasks import read_parallel
from keras_elmo.tasks import read_squad
from keras_elmo.tasks import read_table


@pytest.fixture
def write(tmp_path):
    def write(text, name="data.tsv"):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


class TestConll:
    @pytest.mark.parametrize("name", ["train.bio", "train.bio.gz"])
    @pytest.mark.parametrize("gap", ["\t", " "])
    def test_two_columns(self, write, name, gap):
        path = write(f"\nAnna{gap}B-PER\nsings{gap}O\n\n\n#hit{gap}O\n".replace("\n", "\r\n"), name)
        assert read_conll(path) == ([["Anna", "sings"], ["#hit"]], [["B-PER", "O"], ["O"]])

    def test_conll_2003(self, write):
        path = write("-DOCSTART- -X- -X- O\n\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n", "eng.train")
        assert read_conll(path) == ([["EU", "rejects"]], [["B-ORG", "O"]])
        assert read_conll(path, tag_column=1)[1] == [["NNP", "VBZ"]]

    def test_columns_aligned_with_spaces(self, write):
        path = write("Anna    B-PER\nlives   O \nin      O\nParis   B-LOC\n")
        assert read_conll(path)[1] == [["B-PER", "O", "O", "B-LOC"]]

    def test_conllu(self, write):
        rows = [
            "1-2\tdon't" + "\t_" * 8,
            "1\tdo\tdo\tAUX" + "\t_" * 6,
            "2\tn't\tnot\tPART" + "\t_" * 6,
        ]
        rows += ["2.1\tx\tx\tX" + "\t_" * 6]
        path = write("# text = don't\n" + "\n".join(rows) + "\n\n", "en.conllu")
        assert read_conll(path) == ([["do", "n't"]], [["AUX", "PART"]])

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("x", "line 3: 1 columns where others have 2"),
            ("x\t", "line 3: an empty token, or a tag"),
            ("x\tO O", "line 3: an empty token, or a tag that is not one word"),
            ("x\t\tO", "line 3: 3 columns where others have 2"),
            ("x\tO\tO", "line 3: 3 columns where others have 2"),
            ("x\tI-PER", "line 3: I-PER continues an entity that nothing began"),
            ("x\tI-LOC", "line 3: I-LOC continues an entity that nothing began"),
        ],
    )
    def test_faults(self, write, line, message):
        path = write(f"a\tO\n\n{line}\ny\tO\n\nAnna\tB-PER\n")
        with pytest.raises(ElmoError, match=message):
            read_conll(path)
        with pytest.warns(UserWarning, match=message):
            sentences, tags = read_conll(path, strict=False)
        if "I-" in line:
            assert tags == [["O"], [line.replace("x\tI", "B"), "O"], ["B-PER"]]
        else:
            assert sentences == [["a"], ["Anna"]]

    @pytest.mark.parametrize("text", ["", "\n\n", "-DOCSTART-\tO\n"])
    def test_no_sentence(self, write, text):
        with pytest.raises(ElmoError, match="holds no sentence"):
            read_conll(write(text))

    def test_no_tags(self, write):
        with pytest.raises(ElmoError, match="1 columns, but a token and its tag"):
            read_conll(write("a\nb\n"))

    @pytest.mark.parametrize(("token", "tag"), [(0, -5), (0, 2), (0, 0), (1, -1)])
    def test_no_such_column(self, write, token, tag):
        with pytest.raises(ElmoError, match=f"looked for in columns {token} and {tag}"):
            read_conll(write("a\tO\nb\tO\n"), token, tag)

    def test_scheme(self, write):
        path = write("a\tO\n\nb\tS-PER\n\nc\tB-PER\n")
        assert read_conll(path)[1] == [["O"], ["S-PER"], ["B-PER"]]
        message = "line 3: the tag 'S-PER' is not of BIO"
        with pytest.raises(ElmoError, match=message):
            read_conll(path, scheme="bio")
        with pytest.warns(UserWarning, match=message):
            assert read_conll(path, strict=False, scheme="bio")[1] == [["O"], ["B-PER"]]
        with pytest.raises(ElmoError, match="holds no entity"):
            read_conll(write("a\tO\n"), scheme="bio")

    def test_no_sentence_is_left(self, write):
        path = write("a\tO\nb\n\nc\tO\nd\n")
        with pytest.raises(ElmoError, match="no sentence is left"):
            read_conll(path, strict=False)

    def test_line_ends_of_old_macs(self, tmp_path):
        path = tmp_path / "x.bio"
        path.write_bytes(b"a\tO\rb\tO\r")
        with pytest.raises(ElmoError, match="lines end with CR alone"):
            read_conll(path)

    def test_not_utf8(self, tmp_path):
        path = tmp_path / "x.bio"
        path.write_bytes(b"a\tO\n\xff\tO\n")
        with pytest.raises(ElmoError, match="line 2: not UTF-8"):
            read_conll(path)

    def test_damaged_gz(self, tmp_path):
        path = tmp_path / "x.bio.gz"
        path.write_bytes(gzip.compress(b"a\tO\n" * 1000)[:-20])
        with pytest.raises(ElmoError, match="damaged .gz"):
            read_conll(path)


class TestTables:
    def test_sentences_and_pairs(self, write):
        path = write("label\tsentence\n1\tso good\n0\tso bad\n")
        assert read_table(path) == (["so good", "so bad"], ["1", "0"])
        path = write("p\th\tgold\na\tb\tyes\nc\td\t-\n")
        assert read_table(path, ["p", "h"], "gold") == ([("a", "b")], ["yes"])

    def test_numbers(self, write):
        path = write("a\tb\tscore\nx\ty\t2.5\n")
        assert read_table(path, ["a", "b"], "score", numbers=True) == ([("x", "y")], [2.5])

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("1\ta\tb", "line 3: 3 columns where 2 belong"),
            ("1", "line 3: 1 columns where 2 belong"),
            ("1\t ", "line 3: an empty text or label"),
            ("good\tx", "line 3: the label 'good' is not a number"),
            ("nan\tx", "line 3: the label 'nan' is not a number"),
            ("1e999\tx", "line 3: the label '1e999' is not a number"),
        ],
    )
    def test_faults(self, write, line, message):
        path = write(f"label\tsentence\n1\ta\n{line}\n2\tb\n")
        with pytest.raises(ElmoError, match=message):
            read_table(path, numbers=True)
        with pytest.warns(UserWarning, match=message):
            assert read_table(path, numbers=True, strict=False)[1] == [1.0, 2.0]

    def test_no_such_column(self, write):
        message = "no column 'sentence' in the first line.*must name.*'sentence' and 'label'"
        with pytest.raises(ElmoError, match=message):
            read_table(write("label\ttext\n1\ta\n"))
        with pytest.raises(ElmoError, match="holds no example"):
            read_table(write("label\tsentence\n"))
        with pytest.raises(ElmoError, match="is empty"):
            read_table(write("\n"))

    def test_a_check_of_ones_own(self, write):
        path = write("label\tsentence\n1\ta\n2\tb\n")

        def check(row):
            return "no letter" if row == ["a", "1"] else None

        with pytest.raises(ElmoError, match="line 2: no letter"):
            read_table(path, check=check)
        with pytest.warns(UserWarning, match=r"line 2: no letter \(left out\)"):
            assert read_table(path, strict=False, check=check) == (["b"], ["2"])

    def test_empty_lines(self, write):
        assert read_table(write("label\tsentence\n1\ta\n\n0\tb\n\n"))[1] == ["1", "0"]

    def test_glue(self, write):
        path = write("gj04\t1\t\tA good sentence.\ngj04\t0\t*\tBad a.\n", "CoLA.tsv")
        assert read_glue(path, "CoLA") == (["A good sentence.", "Bad a."], ["1", "0"])
        path = write('index\tquestion\tsentence\tlabel\n0\tWho "is?\tHe.\tentailment\n', "QNLI.tsv")
        assert read_glue(path, "QNLI") == ([('Who "is?', "He.")], ["entailment"])
        head = (
            "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore"
        )
        path = write(f"{head}\n0\tn\tf\t2012\t1\tx\ty\tA.\tB.\t4.2\n", "STS-B.tsv")
        assert read_glue(path, "STS-B") == ([("A.", "B.")], [4.2])
        with pytest.raises(ElmoError, match="unknown GLUE task 'AX'"):
            read_glue(path, "AX")

    def test_parallel(self, write):
        assert read_parallel(write("It rains.\tИдёт дождь.\n")) == (["It rains."], ["Идёт дождь."])
        with pytest.raises(ElmoError, match="line 2: 3 columns where 2 belong"):
            read_parallel(write("a\tb\na\tb\tc\n"))

    def test_the_usual_number_of_columns_counts_not_the_first(self, write):
        path = write("a\tb\tc\nd\te\nf\tg\n")
        with pytest.raises(ElmoError, match="line 1: 3 columns where 2 belong"):
            read_parallel(path)
        with pytest.warns(UserWarning, match="line 1"):
            assert read_parallel(path, strict=False) == (["d", "f"], ["e", "g"])
        assert read_parallel(write("a\tb\tby x\nd\te\tby y\n"))[1] == ["b", "e"]
        path = write("a\nd\te\nf\tg\n")
        with pytest.raises(ElmoError, match="line 1: 1 columns where 2 belong"):
            read_parallel(path)
        with pytest.raises(ElmoError, match="line 1: 1 columns, but 2 or more are needed"):
            read_parallel(write("a\nb\nc\td\n"))


class TestSquad:
    def data(self, text="Anna", start=10, answers=None):
        answers = [{"text": text, "answer_start": start}] if answers is None else answers
        entry = {"id": "q1", "question": "Who?", "answers": answers}
        paragraph = {"context": "On Monday Anna sang.", "qas": [entry]}
        return json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]})

    def test_read(self, write):
        (question,) = read_squad(write(self.data(), "x.json.gz"))
        assert question.answers == [("Anna", 10)]
        assert question.context[10:14] == "Anna"

    def test_faults(self, write):
        path = write(self.data(start=3))
        with pytest.raises(ElmoError, match="q1: the answer 'Anna' is elsewhere in its context"):
            read_squad(path)
        with pytest.warns(UserWarning, match="put there"):
            assert read_squad(path, strict=False)[0].answers == [("Anna", 10)]
        path = write(self.data("Peter"))
        with pytest.raises(ElmoError, match="q1: the answer 'Peter' isn't in its context"):
            read_squad(path)
        with (
            pytest.warns(UserWarning, match="left out"),
            pytest.raises(ElmoError, match="holds no question with an answer"),
        ):
            read_squad(path, strict=False)
        with pytest.raises(ElmoError, match="question q1 has no answer"):
            read_squad(write(self.data(answers=[])))
        with pytest.raises(ElmoError, match="question q1: an empty answer"):
            read_squad(write(self.data(" ", 2)))
        with pytest.raises(ElmoError, match="is elsewhere in its context, not at -10"):
            read_squad(write(self.data(start=-10)))

    def test_a_fault_is_counted_once(self, write):
        answers = [{"text": "Peter", "answer_start": 0}, {"text": "Anna", "answer_start": 10}]
        with pytest.warns(UserWarning, match="left out") as warned:
            (question,) = read_squad(write(self.data(answers=answers)), strict=False)
        assert question.answers == [("Anna", 10)]
        assert "more" not in str(warned[0].message)

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            ({"answer_start": 1}, "question q1: no 'text'"),
            ({"text": "Anna"}, "question q1: no 'answer_start'"),
            ({"text": "Anna", "answer_start": "10"}, "q1: an answer_start that is no whole number"),
            ({"text": 3, "answer_start": 10}, "question q1: a text that is no string"),
            (3, "an object is missing"),
        ],
    )
    def test_wrong_types(self, write, answer, message):
        with pytest.raises(ElmoError, match=f"not the JSON of SQuAD.*{message}"):
            read_squad(write(self.data(answers=[answer])))

    def test_other_files(self, write, tmp_path):
        with pytest.raises(ElmoError, match="not the JSON of SQuAD"):
            read_squad(write('{"data": 3}'))
        with pytest.raises(ElmoError, match="holds no question"):
            read_squad(write('{"data": []}'))
        with pytest.raises(ElmoError, match=r"not the JSON of SQuAD \(no 'data'\)"):
            read_squad(write("{}"))
        with pytest.raises(ElmoError, match=r"an object is missing"):
            read_squad(write("[]"))
        for old, new, message in (
            ('"question"', '"q"', "question q1: no 'question'"),
            ('"Who?"', '" "', "question q1: it is empty"),
        ):
            with pytest.raises(ElmoError, match=message):
                read_squad(write(self.data().replace(old, new)))
        path = tmp_path / "x.json.gz"
        for data in (b"{}", gzip.compress(b"{}" * 1000)[:-20], gzip.compress(b"{}")[:-4] + b"1234"):
            path.write_bytes(data)
            with pytest.raises(ElmoError, match=r"x.json.gz: damaged .gz file"):
                read_squad(path)


@pytest.mark.parametrize(
    ("file", "sentences", "tokens"),
    [
        ("ner-wnut17/train.bio", 3394, 62730),
        ("ner-wikigold/train.bio", 1204, 28453),
        ("ner-wikigold/test.bio", 353, 7375),
    ],
)
def test_published_files(shared_data, file, sentences, tokens):
    found, tags = read_conll(shared_data / file)
    assert (len(found), sum(map(len, found)), sum(map(len, tags))) == (sentences, tokens, tokens)


def test_published_tables(shared_data):
    assert len(read_table(shared_data / "sentiment-rt-polarity/dev.tsv")[0]) == 1044
    pairs = read_table(
        shared_data / "pair-stsb-open/dev.tsv", ["sentence1", "sentence2"], "score", True
    )
    assert len(pairs[0]) == 375
    assert len(read_parallel(shared_data / "mt-tatoeba-en-ru/dev.tsv")[0]) == 931
    assert len(read_squad(shared_data / "qa-squad-dev/dev.json.gz")) == 1810
