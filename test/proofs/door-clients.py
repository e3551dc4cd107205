# Google's and OpenAI's own clients, with nothing changed but the address. Arguments: the door's address, a key.
import json, sys

from googleapiclient import discovery, errors
from openai import OpenAI

base, key = sys.argv[1:3]


def perspective(key):
    at = base + '/$discovery/rest?version=v1alpha1'
    build = discovery.build('commentanalyzer', 'v1alpha1', developerKey=key, discoveryServiceUrl=at, static_discovery=False)
    return build.comments()


def refusal(ask):
    try:
        ask.execute()
        return None
    except errors.HttpError as error:
        return [error.resp.status, error.reason]


toxicity = {'TOXICITY': {}}
suggested = {'comment': {'text': 'x'}, 'attributeScores': {'TOXICITY': {'summaryScore': {'value': 0.9}}}, 'clientToken': 't'}
moderated = OpenAI(base_url=base + '/v1', api_key=key).moderations.create(input=['You stupid idiot.', 'Hello'])
print(json.dumps({
    'scores': perspective(key).analyze(body={'comment': {'text': 'You stupid idiot.'}, 'requestedAttributes': toxicity}).execute(),
    'suggested': perspective(key).suggestscore(body=suggested).execute(),
    'empty': refusal(perspective(key).analyze(body={'comment': {'text': ''}, 'requestedAttributes': toxicity})),
    'stranger': refusal(perspective('nonsense').analyze(body={'comment': {'text': 'x'}, 'requestedAttributes': toxicity})),
    'model': moderated.model,
    'flagged': [one.flagged for one in moderated.results],
}))
